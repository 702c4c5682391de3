// Package head has the heads of messages (RFC 9110), independent of the version of HTTP:
// Request and Response. A parser fills the msg head in them, setters change it, and a
// writer (package h1 for HTTP/1.1) turns it into bytes. A writer needs nothing else:
// methods return the fields that have no record, such as the server's default Server
// field, cookies that were set one by one, or the default Content-Type.
//
// Rules of RFC 9110 that don't depend on the version are here too: lists, the
// options of Connection, Expect, which fields can be trailers, how much body a length allows.
//
// The package does no I/O and reads no clock.
package head
