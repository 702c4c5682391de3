// Package h1 is the HTTP/1.1 protocol (RFC 9112) on bytes: it parses and writes heads,
// applies the rules of framing, and has the chunked coding. It does no I/O, reads no
// clock, and keeps no state except in its arguments. Functions take bytes and return
// bytes and a count. The caller owns all memory: a head keeps a copy of its bytes, and
// Body returns slices of the caller's input, which are valid until the caller changes the
// input. The server, the client, both engines, the tests and the fuzzers use it.
//
// Common lines are parsed eight bytes at a time: fastRequestLine, fastStatusLine and
// fastFields are second, faster parsers for them. They accept nothing that the general
// parsers refuse, and leave the same records. Fuzz tests check that: FuzzParseRequest and
// FuzzParseResponse compare heads in one piece with heads in several pieces, which the
// general parsers handle. The fast parsers leave all other lines to the general ones.
//
// # Flow
//
// When a head arrives, ParseRequest or ParseResponse stores records in a msg head, checks
// the fields that concern the message itself, and says how the body is delimited. Body
// then decodes data and trailers. AppendRequestHead, AppendResponseHead, AppendChunk and
// AppendTrailers write messages.
//
// # Strictness
//
// A message that two recipients could read differently is refused, because request
// smuggling works with such messages. Where RFC 9112 allows a recipient to be lenient,
// this package is not (Strict):
//
//   - every line ends with CRLF; a bare LF or CR is an error everywhere
//   - one space between the parts of a start line; versions 1.0 and 1.1
//   - a target is in one of the four forms that its method allows, without
//     control characters, spaces, "#" or userinfo
//   - a field name is a token with the colon directly after it; a value has no control
//     characters except HTAB; lines are not folded
//   - one Host with a valid host (HTTP/1.0: at most one)
//   - one Content-Length that is a number, or one Transfer-Encoding that is
//     "chunked", not both; no Transfer-Encoding in HTTP/1.0
//   - chunk sizes are hex digits; extensions follow the grammar and have a limit
//   - fields that control the message are not allowed as trailers
//
// All of this is checked byte by byte as input arrives: input that can't become a valid
// message is an error at once.
//
// # Leniency
//
// The dialect Lenient is for messages from files, captures and logs, which programs read
// with the Read methods. The connections of servers and clients never use it. Except for
// the last two items, it does not change where a message ends, and each item alone is
// harmless:
//
//   - The version HTTP/0.9 in a start line. The rest is read as in HTTP/1.0, so that the
//     connection closes. A request without a version is still an error.
//   - Several spaces before the code of a status line. The code is the only number there,
//     so no recipient reads a different one.
//   - A fragment in a target. It stays in the target unchanged, and the URI splits it
//     off; no server uses it.
//   - Spaces within a field name, but not at its ends. Such a name has no meaning in
//     HTTP, so it affects neither framing nor routing. The field can be found by its name
//     and is never written (msg.Unsent). A space before the colon, which some recipients
//     ignore and others don't, is still an error (RFC 9112 section 5.1).
//   - More empty lines before a request line; see Limits.EmptyLines. They can't be read
//     in two ways (RFC 9112 section 2.2).
//   - Folded field lines. Each fold becomes one space (RFC 9112 section 5.2), so that the
//     field is written as one line. Content-Length, Transfer-Encoding and Host can't be
//     folded, so recipients that don't support folding find the same framing and host.
//     Whitespace before the first field is still an error.
//   - Whitespace after a chunk size. There are only digits before it, so all recipients
//     read the same size (RFC 9112 section 7.1.1 allows whitespace before an extension).
//   - The last of several Content-Type fields is kept, as RFC 9110 section 8.3 says of
//     recipients, and not the first. The others are deleted in both dialects.
//   - Content-Length together with "chunked". The length is ignored and the connection
//     closes, which RFC 9112 section 6.1 allows. Other recipients may see a different end
//     of the message; that is why servers and clients refuse it.
//   - A bare LF as the end of a line of the head, which RFC 9112 section 2.2 allows
//     recipients to accept, also mixed with CRLF. The head ends at its first empty line.
//     If that line is a bare LF or comes after one, recipients that look for CRLF CRLF
//     find the end elsewhere. So such a head is ErrPartial until CRLF CRLF was seen too.
//     The exception is a head without fields that ends with an empty line of CRLF.
//     Trailer sections and chunks must have CRLF.
package h1
