// Package peers has what tests need that doesn't name types of package gale: peers, which send
// bytes as a test says, streams, networks, and checks. Only tests import it, those of package
// gale too. So it must not import package gale. A function that needs one of its types takes a
// type parameter, an interface, or a value that package door understands.
//
//	main.go          the function Main, which reads GALE_ENGINE
//	ways.go          the engines and protocols that a test runs on
//	server.go        servers on loopback, logs, connections that send and check bytes
//	inside.go        what a server holds
//	process.go       memory, goroutines and pools of the process
//	network.go       a network in memory
//	buffers_*.go     listeners whose connections have small buffers
//	dialer.go        addresses and resolvers for dialers; dialer_linux.go: one that hangs
//	script.go        servers of HTTP/1.1 that do what a test says
//	pipeline.go      servers that answer many requests of one connection
//	h2_conn.go       clients of HTTP/2 that send frames
//	h2_peer.go       servers of HTTP/2 that send frames
//	h2_script.go     servers of HTTP/2 that send bytes
//	foreign.go       tokens that show which request bytes belong to
//	client_allocs.go contexts for tests of allocations
//	files.go         trees of files
//	streams.go       bodies
//	text.go          texts, headers, errors
package peers
