// Package clientconn reads from and writes to a client's connection. It knows bytes
// and deadlines but no messages: the root package handles heads, bodies and pools.
//
// A [Conn] belongs to one goroutine at a time, except for Cancel and Closed. Between
// exchanges it holds no buffer. Deadlines are set on the connection lazily, see deadline.
package clientconn
