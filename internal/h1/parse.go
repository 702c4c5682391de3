package h1

import "github.com/galehttp/gale/internal/msg"

// Limits bound what a head may hold. A zero field means its default.
type Limits struct {
	// Target is the longest request-target in bytes (default 16 KiB), beyond it 414.
	Target int
	// Head is the longest head in bytes (default 64 KiB), beyond it 431.
	Head int
	// Fields is the highest number of field lines (default 512), beyond it 431.
	Fields int
}

// ParseRequest parses a request head from the front of b into h, which was
// Reset before the first call. It returns the number of bytes consumed: the
// head with its empty line and, before it, at most one empty line.
//
// If b holds a head in part, the error is ErrPartial and nothing is consumed;
// call again with the same bytes and more behind them. An *Error is final.
//
// On success h owns a copy of the head; nothing of b is kept.
func ParseRequest(b []byte, h *msg.RequestHead, lim *Limits) (n int, err error) { panic("stub") }

// ParseResponse parses a response head; see ParseRequest. The framing that
// depends on the request (HEAD, CONNECT) is the caller's business.
func ParseResponse(b []byte, h *msg.ResponseHead, lim *Limits) (n int, err error) { panic("stub") }

// ParseTrailers parses a trailer section with its final empty line (RFC 9112
// section 7.1.2) from the front of b, appending its fields to f. Fields that
// must not be in trailers (RFC 9110 section 6.5.1) are an *Error.
func ParseTrailers(b []byte, f *msg.Fields, lim *Limits) (n int, err error) { panic("stub") }
