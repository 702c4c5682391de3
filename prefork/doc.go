// Package prefork runs a server as several processes that share one address.
//
//	s := &gale.Server{Handler: handler}
//	if err := prefork.New(s).ListenAndServe(":8080"); err != nil {
//		log.Fatal(err)
//	}
//
// The process that is started becomes the master. It runs the same program again as
// children, one for each processor. It starts a new child when one ends, and passes on
// the signal to stop. Each child uses one processor, which saves work in Go's scheduler
// and garbage collector. The price is that children share no memory: each has its own
// caches, counters, rate limits and sessions.
//
// The program must reach the same ListenAndServe call when it is run again with the same
// arguments. IsChild reports whether the process is a child.
//
// # Listeners
//
// By default the master opens the listener and passes it to the children. All children
// accept from one queue, no connection is lost when one of them ends, and port 0 works.
// With Prefork.Reuseport each child opens its own listener on the same address (package
// reuseport), and the system spreads connections over them. That is a little cheaper, but
// connections that wait for a child are reset when it ends. With port 0 the system
// chooses a port, which the master reserves for all its children, including those that it
// starts later. On Windows, port 0 is an error with Reuseport.
//
// # Ending
//
// On SIGTERM or an interrupt the master sends SIGTERM to its children and waits for them.
// Then ListenAndServe returns nil in the master. Children made with New shut their server
// down gracefully, and ListenAndServe returns nil there too. In fasthttp the signal ends
// the master, and its children go on running.
package prefork
