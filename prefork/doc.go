// Package prefork runs a server as several processes that share one address.
//
// The process that is started becomes the master: it runs the same program again
// as children, one for each processor, restarts those that end, and passes on
// the signal to stop. Each child serves with one processor, so that Go's
// scheduler and garbage collector have no more than one to look after; what is
// lost is all sharing: caches, counters, rate limits and sessions in memory are
// those of one child.
//
// The program must come to the same ListenAndServe call when it is run with the
// same arguments; IsChild tells it which of the two it is.
//
// # Listeners
//
// By default the master opens the listener and hands it down: all children accept
// from one queue, no connection is lost when one of them ends, and port 0 works.
// With Prefork.Reuseport each child opens a listener of its own on the same
// address (package reuseport) and the system spreads connections over them, which
// is a little cheaper; connections that wait for a child are reset when it ends.
// With port 0 the master has the system choose a port, and keeps it for all its
// children, also those that it starts later; not on Windows, where port 0 is an
// error.
//
// # Ending
//
// On SIGTERM or an interrupt the master sends SIGTERM to its children, waits for
// them, and ListenAndServe returns nil in the master. Children made with New shut
// their server down gracefully; ListenAndServe returns nil there too. fasthttp's
// master dies of the signal and leaves its children running.
package prefork
