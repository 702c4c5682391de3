package h1

import "math"

// Limits bound what a head may hold. A zero field means its default, and so
// does a nil *Limits.
type Limits struct {
	// Target is the longest request-target in bytes (default 16 KiB), beyond it 414.
	Target int
	// Head is the longest head in bytes (default 64 KiB), beyond it 431. It
	// bounds a trailer section as well.
	Head int
	// Fields is the highest number of field lines (default 512), beyond it 431.
	Fields int
	// Lenient accepts some of what old or careless programs write. It is for the
	// Read methods that programs call themselves, on messages from files, captures
	// and logs; the connections of servers and clients never have it. It does not
	// change where a message ends, but for the last two items, and each item alone is
	// harmless:
	//
	//   - The version HTTP/0.9 in a start line. The rest is read as HTTP/1.0 has it,
	//     so that the connection closes; a request without a version stays an error.
	//   - Several spaces before the code of a status line. The code is the only
	//     thing there that is a number, so nobody takes another one.
	//   - A fragment in a target. It stays in the target as it came, for the URI to
	//     split off; no server answers by it.
	//   - Spaces within a field name, not at its ends. Such a name means nothing to
	//     HTTP, thus it can neither frame nor route; the field is found by its name and
	//     never written (msg.Unsent). A space before the colon, which some ignore and
	//     others don't, stays an error (RFC 9112 section 5.1).
	//   - Several empty lines before a request line. There is nothing in them to be
	//     read in two ways (RFC 9112 section 2.2 asks for one at least).
	//   - Folded field lines. Each fold becomes one space (RFC 9112 section 5.2), so
	//     that whoever writes the field writes one line. Content-Length,
	//     Transfer-Encoding and Host can't be folded: those who don't know of folding
	//     frame and route alike. Whitespace before the first field stays an error.
	//   - Whitespace behind a chunk size. The digits are all there is before the
	//     CRLF, so that the size is the same to all (RFC 9112 section 7.1.1 allows it
	//     before an extension).
	//   - Content-Length beside "chunked". The length counts for nothing and the
	//     connection closes, which RFC 9112 section 6.1 allows. Others may end the
	//     message elsewhere: that is why servers and clients refuse it.
	//   - A bare LF as the end of a line of the head, which RFC 9112 section 2.2 lets
	//     recipients recognise, also mixed with CRLF. The head ends at its first empty
	//     line. If that is a bare LF or comes behind one, those who look for CRLF CRLF
	//     find the end elsewhere; such a head counts only once they would find one, and
	//     is ErrPartial until then, but for the empty line (CRLF) of a head without
	//     fields. Trailer sections and chunks have CRLF.
	Lenient bool
	// Hosts accepts several Host fields in a request, valid each. It is for a
	// program that reads a request by hand as a mere list of fields: no server may
	// have it (RFC 9112 section 3.2).
	Hosts bool
}

func (l *Limits) lenient() bool { return l != nil && l.Lenient }

// The defaults of Limits.
const (
	DefaultTarget = 16 << 10
	DefaultHead   = 64 << 10
	DefaultFields = 512
)

// maxMethod is the longest method in bytes; the longest registered one has 17.
const maxMethod = 64

func (l *Limits) target() int {
	if l == nil || l.Target <= 0 {
		return DefaultTarget
	}
	return l.Target
}

// head stays below what the 32-bit offsets of records can reach.
func (l *Limits) head() int {
	if l == nil || l.Head <= 0 {
		return DefaultHead
	}
	return min(l.Head, math.MaxInt32/2)
}

func (l *Limits) fields() int {
	if l == nil || l.Fields <= 0 {
		return DefaultFields
	}
	return l.Fields
}
