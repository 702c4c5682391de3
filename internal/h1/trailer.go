package h1

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// ParseTrailers parses a trailer section with its final empty line (RFC 9112
// section 7.1.2) from the front of b, appending its fields to f. It returns the
// number of bytes consumed. If the section isn't complete, the error is
// ErrPartial and f is as before. A field that must not stand in a trailer
// section (see ForbiddenTrailer) is an *Error, as is everything that would be
// one in a head. lim.Head bounds the section in bytes.
func ParseTrailers(b []byte, f *msg.Fields, lim *Limits) (n int, err error) {
	var s trailerScan
	before := len(f.Recs)
	n, done, err := s.next(b, f, lim)
	if err == nil && !done {
		err = ErrPartial
	}
	if err != nil {
		f.Truncate(before)
		return 0, err
	}
	return n, nil
}

// trailerScan reads a trailer section line by line.
type trailerScan struct {
	scan   msg.Scan
	bytes  int // consumed so far
	fields int
}

// next consumes the complete lines that b begins with, n bytes in all, and
// appends their fields to f. It is done behind the empty line.
func (t *trailerScan) next(b []byte, f *msg.Fields, lim *Limits) (n int, done bool, err error) {
	room := lim.head() - t.bytes
	if len(b) > room {
		b = b[:room]
	}
	before := len(f.Recs)
	maxFields := before + lim.fields() - t.fields
	err = parseFields(b, &t.scan, len(f.Buf), f, maxFields, false)
	n = t.scan.Line
	switch err {
	case nil:
		done = true
	case ErrPartial:
		if len(b) == room {
			return 0, false, ErrHeadTooLong
		}
	default:
		return 0, false, err
	}
	f.Buf = append(f.Buf, b[:n]...)
	for i := before; i < len(f.Recs); i++ {
		if ForbiddenTrailer(f.RawName(i)) {
			return 0, false, ErrTrailer
		}
	}
	t.bytes += n
	t.fields += len(f.Recs) - before
	t.scan.Line = 0
	if t.scan.Seen > 0 {
		t.scan.Seen -= n
		t.scan.Sep[0] -= n
	}
	return n, done, nil
}

// forbiddenTrailers are the known fields of RFC 9110 section 6.5.1: those for
// framing, routing, authentication, request modifiers, and response control, and
// those that say how content is to be read. Date is not one of them: it says
// when the message was made (section 6.6.1), and nothing depends on it.
var forbiddenTrailers = func() (set uint64) {
	for _, id := range []msg.ID{
		msg.Host, msg.ContentLength, msg.TransferEncoding, msg.Connection, msg.KeepAlive, msg.ProxyConnection,
		msg.Upgrade, msg.Trailer, msg.Te, msg.Expect, msg.Range, msg.IfMatch, msg.IfNoneMatch,
		msg.IfModifiedSince, msg.IfUnmodifiedSince, msg.IfRange, msg.CacheControl, msg.Pragma,
		msg.Authorization, msg.ProxyAuthorization, msg.Cookie, msg.SetCookie,
		msg.ContentType, msg.ContentEncoding, msg.ContentRange, msg.ContentLanguage, msg.ContentDisposition,
		msg.Location, msg.Expires, msg.Vary,
		msg.XForwardedFor, msg.XForwardedHost, msg.XForwardedProto, msg.XRealIp,
	} {
		set |= 1 << id
	}
	return set
}()

// ForbiddenTrailer reports whether a field called name must not stand in a
// trailer section (RFC 9110 section 6.5.1). Beside what the RFC names these are
// the fields by which proxies tell who the client is.
func ForbiddenTrailer(name []byte) bool {
	if id := msg.Lookup(name); id != msg.Unknown {
		return forbiddenTrailers&(1<<id) != 0
	}
	for _, s := range [...]string{
		"Proxy-Authenticate", "Www-Authenticate", "Max-Forwards", "Content-Location", "Forwarded",
		"X-Forwarded-Port", "X-Forwarded-Server", "Age", "Retry-After", "Warning",
	} {
		if bytesconv.EqualFoldString(name, s) {
			return true
		}
	}
	return false
}
