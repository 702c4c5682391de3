package h1

import (
	"math"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// KeepAlive reports whether the connection may be used again after the answer
// to a request (RFC 9112 section 9.3): an HTTP/1.1 request without "close", an
// HTTP/1.0 request with "keep-alive" and without "close".
func KeepAlive(h *msg.RequestHead) bool { return keepAlive(h.Minor, h.Conn) }

// ResponseKeepAlive is KeepAlive for a response that was received. Whether
// the body lets the connection be used again is another question.
func ResponseKeepAlive(h *msg.ResponseHead) bool { return keepAlive(h.Minor, h.Conn) }

func keepAlive(minor uint8, c msg.Conn) bool {
	if minor == 0 && c&msg.ConnKeepAlive == 0 {
		return false
	}
	return c&msg.ConnClose == 0
}

// framingIDs are the fields that finishRequest looks at.
const framingIDs uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection | 1<<msg.Expect

// finishRequest checks the fields that concern the message itself and derives
// the plain data of h from them.
func finishRequest(h *msg.RequestHead, lim *Limits) error {
	const both = 1<<msg.ContentLength | 1<<msg.TransferEncoding
	if err := checkHost(h, lim); err != nil {
		return err
	}
	seen := h.Seen()
	if seen&framingIDs == 0 && h.Scan.Dups&(1<<msg.ContentType) == 0 {
		return nil
	}
	if seen&both != 0 {
		length, err := framing(&h.Fields, h.Minor, h.Scan.Dups, lim.lenient())
		if err != nil {
			return err
		}
		h.ContentLength = length
	}
	if seen&(1<<msg.Connection) != 0 {
		h.Conn = connection(&h.Fields, h.Scan.Dups)
		if h.Minor == 0 && h.Conn&msg.ConnKeepAlive == 0 {
			h.Conn &^= msg.ConnUpgrade // the connection ends
		}
	}
	if h.Scan.Dups&(1<<msg.ContentType) != 0 {
		lastOnly(&h.Fields, msg.ContentType)
	}
	if seen&both == both {
		h.Conn |= msg.ConnClose
	}
	if seen&(1<<msg.Expect) != 0 && h.Minor > 0 { // RFC 9110 section 10.1.1
		h.Expect = expectation(&h.Fields)
	}
	return nil
}

// lastOnly deletes all fields with id but the last.
func lastOnly(f *msg.Fields, id msg.ID) {
	for i := f.Find(id); i >= 0; {
		next := f.Next(i)
		if next >= 0 {
			f.DelAt(i)
		}
		i = next
	}
}

// checkHost enforces RFC 9112 section 3.2: one valid Host, which only
// HTTP/1.0 may leave out. See Limits.Hosts for several.
func checkHost(h *msg.RequestHead, lim *Limits) error {
	i := h.Find(msg.Host)
	if i < 0 {
		if h.Minor == 0 {
			return nil
		}
		return ErrNoHost
	}
	if h.Scan.Dups&(1<<msg.Host) != 0 {
		if lim == nil || !lim.Hosts {
			return ErrManyHosts
		}
		for j := h.Next(i); j >= 0; j = h.Next(j) {
			if !ValidHost(h.Value(j)) {
				return ErrHost
			}
		}
	}
	if !ValidHost(h.Value(i)) {
		return ErrHost
	}
	return nil
}

// framing returns the length of the body by Transfer-Encoding and
// Content-Length (RFC 9112 section 6.3). It refuses what leaves a
// choice: both fields, one of them twice, and every coding but "chunked". If it
// is lenient, Transfer-Encoding goes before Content-Length, which is deleted; the
// caller sees to it that the connection closes.
func framing(f *msg.Fields, minor uint8, dups uint64, lenient bool) (length int64, err error) {
	cl, te := f.Find(msg.ContentLength), f.Find(msg.TransferEncoding)
	switch {
	case te >= 0 && cl >= 0 && !(lenient && dups&(1<<msg.ContentLength) == 0):
		return 0, ErrLengthAndCoding
	case te >= 0:
		if minor == 0 {
			return 0, ErrCodingHTTP10
		}
		if dups&(1<<msg.TransferEncoding) != 0 {
			return 0, ErrCoding
		}
		if err := checkCoding(f.Value(te)); err != nil || cl < 0 {
			return msg.LenChunked, err
		}
		_, err = ParseContentLength(f.Value(cl))
		f.Del(msg.ContentLength, nil)
		return msg.LenChunked, err
	case cl >= 0:
		if dups&(1<<msg.ContentLength) != 0 {
			return 0, ErrManyLengths
		}
		return ParseContentLength(f.Value(cl))
	}
	return msg.LenUnknown, nil
}

// ParseContentLength parses the value of a Content-Length field: 1*DIGIT,
// nothing else. A number that doesn't fit in an int64 is ErrBodyTooLong.
func ParseContentLength(b []byte) (int64, error) {
	if len(b) == 0 {
		return 0, ErrContentLength
	}
	var v int64
	fits := true
	for _, c := range b {
		d := int64(c) - '0'
		if d < 0 || d > 9 {
			return 0, ErrContentLength
		}
		if v > (math.MaxInt64-d)/10 {
			fits = false
			continue
		}
		v = v*10 + d
	}
	if !fits {
		return 0, ErrBodyTooLong
	}
	return v, nil
}

// checkCoding accepts "chunked" alone. A list with a coding that is not ours is
// ErrCodingUnsupported, anything else ErrCoding.
func checkCoding(v []byte) error {
	if bytesconv.EqualFoldString(v, "chunked") {
		return nil
	}
	unsupported := false
	for len(v) > 0 {
		var elem []byte
		elem, v = nextElement(v)
		if len(elem) == 0 {
			continue
		}
		if !bytesconv.IsToken(elem) {
			return ErrCoding
		}
		unsupported = unsupported || !bytesconv.EqualFoldString(elem, "chunked")
	}
	if unsupported {
		return ErrCodingUnsupported
	}
	return ErrCoding
}

// connection collects the options of all Connection fields.
func connection(f *msg.Fields, dups uint64) (c msg.Conn) {
	i := f.Find(msg.Connection)
	if i >= 0 && dups&(1<<msg.Connection) == 0 {
		return ParseConnection(f.Value(i))
	}
	for ; i >= 0; i = f.Next(i) {
		c |= ParseConnection(f.Value(i))
	}
	return c
}

// ParseConnection parses the value of a Connection field (RFC 9110 section
// 7.6.1). Elements that are no tokens count as unknown options.
func ParseConnection(v []byte) (c msg.Conn) {
	switch string(v) {
	case "keep-alive":
		return msg.ConnKeepAlive
	case "close":
		return msg.ConnClose
	}
	for len(v) > 0 {
		var elem []byte
		elem, v = nextElement(v)
		switch {
		case len(elem) == 0:
		case bytesconv.EqualFoldString(elem, "close"):
			c |= msg.ConnClose
		case bytesconv.EqualFoldString(elem, "keep-alive"):
			c |= msg.ConnKeepAlive
		case bytesconv.EqualFoldString(elem, "upgrade"):
			c |= msg.ConnUpgrade
		default:
			c |= msg.ConnOther
		}
	}
	return c
}

// nextElement cuts the first element off a comma-separated list (RFC 9110
// section 5.6.1), without the whitespace around it. Empty elements come too.
func nextElement(v []byte) (elem, rest []byte) {
	n := 0
	for n < len(v) && v[n] != ',' {
		n++
	}
	from, to := bytesconv.TrimRange(v, 0, n)
	if n < len(v) {
		rest = v[n+1:]
	}
	return v[from:to], rest
}

// expectation parses the Expect fields (RFC 9110 section 10.1.1).
func expectation(f *msg.Fields) msg.Expectation {
	for i := f.Find(msg.Expect); i >= 0; i = f.Next(i) {
		if !bytesconv.EqualFoldString(f.Value(i), "100-continue") {
			return msg.ExpectOther
		}
	}
	return msg.ExpectContinue
}
