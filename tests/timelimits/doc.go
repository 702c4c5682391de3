// Package timelimits holds no code. Its tests prove that every time limit ends the call that
// it limits, whatever the call waits for. Each table has calls and what they can wait for:
// limits_test.go those of clients, handlers_test.go those of handlers, and ends_test.go those
// of connections, servers and proxies. complete_test.go finds the functions that take a
// context or a time limit, so that none is missing in the table of clients.
//
// Other tests have calls without a limit that only Close ends: TestListenerClose and
// TestCloseWakes of package galeutil, TestStreamReaderCloseWakesReader of package gale, and
// TestConnCloseStalled and TestCloseEndsInTime of package ws.
package timelimits
