// Package h1 is the HTTP/1.1 protocol (RFC 9112) on bytes: parsing and
// serialising of heads, the rules of framing, the chunked coding. It does no
// I/O, reads no clock and keeps no state beside what it is given: bytes in,
// bytes and a count out. The server, the client, both engines, the tests and
// the fuzzers all use it, and there is no second parser.
//
// # Flow
//
// A head arrives: ParseRequest or ParseResponse leaves records in a msg head,
// checks the fields that concern the message itself and tells how the body is
// delimited. Body then turns bytes into data and trailers. On the way out
// AppendStatusLine, AppendChunk and their kin write.
//
// # Strictness
//
// A message that two recipients could read differently is refused, since that
// is what request smuggling is made of. Where RFC 9112 lets a recipient be
// lenient, this package is not:
//
//   - every line ends with CRLF; a bare LF or CR is an error wherever it stands
//   - one space between the parts of a start line; versions 1.0 and 1.1
//   - a target is in one of the four forms that its method allows, without
//     control characters, spaces, "#" or userinfo
//   - a field name is a token with the colon directly behind it; a value holds
//     no control characters but HTAB; lines are not folded
//   - one Host with a valid host (HTTP/1.0: at most one)
//   - one Content-Length that is a number, or one Transfer-Encoding that is
//     "chunked", not both; no Transfer-Encoding in HTTP/1.0
//   - chunk sizes are hex digits, extensions follow the grammar and are bounded
//   - fields that govern the message are no trailers
//
// All of this is checked byte for byte as input arrives: input that can't
// become a message is an error at once.
package h1
