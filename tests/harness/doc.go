// Package harness has what the tests in tests/server, tests/client, tests/h2, tests/files and
// tests/message share and what names types of package gale. What doesn't name them is in
// package peers. Only tests import it. Tests of package gale itself can't: that would be an
// import cycle. They use package peers.
//
//	server.go    servers of HTTP/1.1
//	engine.go    servers over TLS, and duplex ones
//	h2.go        servers of HTTP/2, tunnels, attacks
//	upgrade.go   servers of upgraded connections
//	leak.go      requests that must not see bytes of others
//	guard.go     guards of lifetimes, and what they report
//	client.go    clients of the servers of package peers, and of ours
//	pipeline.go  PipelineClient
//	lb.go        clients of an LBClient
//	mischief.go  functions and connections of users that panic or end their goroutine
//	files.go     requests to handlers of files
//	message.go   requests with forms, compressed responses
package harness
