// Package h1 is the HTTP/1.1 protocol (RFC 9112) on bytes: parsing and
// serialising of heads, the rules of framing, the chunked coding. It does no
// I/O, reads no clock and keeps no state beside what it is given: bytes in,
// bytes and a count out. The server, the client, both engines, the tests and
// the fuzzers all use it, and there is no second parser.
package h1
