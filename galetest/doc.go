// Package galetest is for tests of programs that use Gale: what
// net/http/httptest is for net/http.
//
// There are two ways to test a handler:
//
//   - [Record] calls it with a context, see [NewContext], and gives back the
//     response. No bytes are written and no goroutine is started, so this is the
//     quick one.
//   - [NewServer] starts a real server that listens in memory, and comes with a
//     client. Requests and responses go over a connection with all that is part
//     of it: limits, time-outs, keep-alive, streaming. [NewTLSServer] adds
//     TLS. With Server.Network they listen on TCP instead, for clients that
//     can't be told to dial in memory.
package galetest
