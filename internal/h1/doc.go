// Package h1 is the HTTP/1.1 protocol (RFC 9112) on bytes: parsing and
// writing of heads, the rules of framing, the chunked coding. It does no I/O, reads
// no clock and keeps no state beside what it is given: bytes in, bytes and a count
// out. The caller owns all memory: a head keeps a copy of its bytes, and what Body
// returns are slices of the caller's input, valid until the caller changes that. The server, the client, both engines, the tests and the fuzzers all use it.
//
// Lines that look as nearly all do are parsed eight bytes at a time: fastRequestLine,
// fastStatusLine and fastFields are second parsers of these lines. They accept
// nothing that the others refuse and leave the same records, which fuzzing proves:
// FuzzParseRequest and FuzzParseResponse compare heads that come whole with heads in
// pieces, which go through the others. What they can't handle is left to these.
//
// # Flow
//
// A head arrives: ParseRequest or ParseResponse leaves records in a msg head,
// checks the fields that concern the message itself and tells how the body is
// delimited. Body then turns bytes into data and trailers. On the way out
// AppendRequestHead, AppendResponseHead, AppendChunk and AppendTrailers write.
//
// # Strictness
//
// A message that two recipients could read differently is refused, since that
// is what request smuggling is made of. Where RFC 9112 lets a recipient be
// lenient, this package is not (Strict):
//
//   - every line ends with CRLF; a bare LF or CR is an error wherever it stands
//   - one space between the parts of a start line; versions 1.0 and 1.1
//   - a target is in one of the four forms that its method allows, without
//     control characters, spaces, "#" or userinfo
//   - a field name is a token with the colon directly after it; a value holds
//     no control characters but HTAB; lines are not folded
//   - one Host with a valid host (HTTP/1.0: at most one)
//   - one Content-Length that is a number, or one Transfer-Encoding that is
//     "chunked", not both; no Transfer-Encoding in HTTP/1.0
//   - chunk sizes are hex digits, extensions follow the grammar and are bounded
//   - fields that govern the message are no trailers
//
// All of this is checked byte for byte as input arrives: input that can't
// become a message is an error at once.
//
// # Leniency
//
// The dialect Lenient is for messages from files, captures and logs, which programs
// read by hand. The connections of servers and clients never speak it. It does not
// change where a message ends, except for the last two items, and each item alone is
// harmless:
//
//   - The version HTTP/0.9 in a start line. The rest is read as HTTP/1.0 has it,
//     so that the connection closes; a request without a version stays an error.
//   - Several spaces before the code of a status line. The code is the only number
//     there, so no recipient takes another one.
//   - A fragment in a target. It stays in the target as it came, for the URI to
//     split off; no server answers by it.
//   - Spaces within a field name, not at its ends. Such a name means nothing to
//     HTTP, thus it can neither frame nor route; the field is found by its name and
//     never written (msg.Unsent). A space before the colon, which some ignore and
//     others don't, stays an error (RFC 9112 section 5.1).
//   - More empty lines before a request line, see Limits.EmptyLines. There is nothing
//     in them to be read in two ways (RFC 9112 section 2.2).
//   - Folded field lines. Each fold becomes one space (RFC 9112 section 5.2), so
//     that the field is written as one line. Content-Length, Transfer-Encoding and
//     Host can't be folded: recipients that don't know of folding frame and route
//     alike. Whitespace before the first field stays an error.
//   - Whitespace after a chunk size. The digits are all there is before the CRLF, so
//     that the size is the same to all (RFC 9112 section 7.1.1 allows it before an
//     extension).
//   - The last of several Content-Type fields counts, as RFC 9110 section 8.3
//     says of recipients, and not the first. No other is left either way.
//   - Content-Length beside "chunked". The length counts for nothing and the
//     connection closes, which RFC 9112 section 6.1 allows. Others may end the
//     message elsewhere: that is why servers and clients refuse it.
//   - A bare LF as the end of a line of the head, which RFC 9112 section 2.2 lets
//     recipients recognise, also mixed with CRLF. The head ends at its first empty
//     line. If that is a bare LF or comes after one, recipients that look for CRLF
//     CRLF find the end elsewhere; such a head counts only once they would find one,
//     and is ErrPartial until then, except for the empty line (CRLF) of a head
//     without fields. Trailer sections and chunks have CRLF.
package h1
