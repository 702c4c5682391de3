// Package streamconn makes a stream of a connection that has many a net.Conn. Conn has the
// states of one: its deadlines, which calls run, and how it was closed. The Stream has the
// bytes. The package knows no protocol, does no I/O, and waits only in methods of the Stream.
package streamconn
