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
	// Lenient accepts what old or careless programs write and nobody could
	// read in two ways: a version HTTP/0.9, several spaces in a status line, a fragment in a target,
	// whitespace behind a chunk size, and Content-Length beside "chunked", which
	// then counts for nothing and ends the connection (RFC 9112 section 6.1). It is
	// for messages that come from elsewhere than a connection of a server.
	Lenient bool
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
