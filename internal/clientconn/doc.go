// Package clientconn reads from and writes to a client's connection. It knows bytes and
// deadlines, and no message: heads, bodies and pools are the business of the root package.
//
// A [Conn] belongs to one goroutine at a time, except for Cancel and Closed. Between
// exchanges it holds no buffer. Deadlines are set on the connection lazily, see deadline.
package clientconn
