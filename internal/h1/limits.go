package h1

import "math"

// Limits are the limits of a head. A field that is zero means its default, and so does a
// nil *Limits.
type Limits struct {
	// Target is the longest request-target in bytes (default 16 KiB). A longer one gives
	// 414.
	Target int
	// Head is the longest head in bytes (default 64 KiB). A longer one gives 431. It is
	// also the limit of a trailer section.
	Head int
	// Fields is the highest number of field lines (default 512). More give 431.
	Fields int
	// EmptyLines is the highest number of empty lines before a request line (default 9;
	// 64 for the dialect Lenient). More give 400.
	EmptyLines int
	// Dialect says which syntax is accepted in addition to the strict one.
	Dialect Dialect
	// Hosts accepts several Host fields in a request; each must be valid. It is for a
	// program that reads a request only as a list of fields. A server must not set it
	// (RFC 9112 section 3.2).
	Hosts bool
	// Tunnel says that a response answers CONNECT. Content-Length and Transfer-Encoding of a
	// 2xx are then ignored, whatever they say (RFC 9110 section 9.3.6).
	Tunnel bool
}

// opensTunnel reports whether a response with this status has no framing.
func (l *Limits) opensTunnel(status int) bool { return l != nil && l.Tunnel && status/100 == 2 }

func (l *Limits) dialect() Dialect {
	if l == nil {
		return Strict
	}
	return l.Dialect
}

// The defaults of Limits.
const (
	DefaultTarget = 16 << 10
	DefaultHead   = 64 << 10
	DefaultFields = 512

	DefaultEmptyLines = 9
)

// maxMethod is the longest method in bytes; the longest registered one has 17.
const maxMethod = 64

func (l *Limits) target() int {
	if l == nil || l.Target <= 0 {
		return DefaultTarget
	}
	return l.Target
}

// head returns the limit of a head, which is below the range of the 32-bit offsets of
// records.
func (l *Limits) head() int {
	if l == nil || l.Head <= 0 {
		return DefaultHead
	}
	return min(l.Head, math.MaxInt32/2)
}

func (l *Limits) emptyLines() int {
	switch {
	case l != nil && l.EmptyLines > 0:
		return l.EmptyLines
	case l.dialect() == Lenient:
		return 64
	}
	return DefaultEmptyLines
}

func (l *Limits) fields() int {
	if l == nil || l.Fields <= 0 {
		return DefaultFields
	}
	return l.Fields
}
