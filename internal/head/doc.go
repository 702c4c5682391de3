// Package head holds what the head of a message says (RFC 9110), as a program
// sets it and as every version of HTTP writes it: Request and Response. A parser
// fills the msg head inside of them, setters change it, and a writer (package h1
// for HTTP/1.1) turns it into bytes. A writer needs nothing else: the fields that
// have no record, such as a Server of its own, cookies that were set one by one or
// the default of Content-Type, are told by methods.
//
// Rules of RFC 9110 that don't depend on the version are here too: lists, the
// options of Connection, Expect, which fields can be trailers.
//
// The package does no I/O and reads no clock.
package head
