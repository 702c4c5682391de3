package h1

import (
	"math"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// KeepAlive reports whether the connection may be used again after the response to a
// request (RFC 9112 section 9.3). That is true for an HTTP/1.1 request without "close",
// and for an HTTP/1.0 request with "keep-alive" and without "close".
func KeepAlive(h *msg.RequestHead) bool { return keepAlive(h.Minor, h.Conn) }

// ResponseKeepAlive is KeepAlive for a response that was received. It doesn't say whether
// the body allows the connection to be used again.
func ResponseKeepAlive(h *msg.ResponseHead) bool { return keepAlive(h.Minor, h.Conn) }

func keepAlive(minor uint8, c msg.Conn) bool {
	if minor == 0 && c&msg.ConnKeepAlive == 0 {
		return false
	}
	return c&msg.ConnClose == 0
}

// framingIDs are the fields that finishRequest looks at.
const framingIDs uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection | 1<<msg.Expect

// finishRequest checks the fields that concern the message itself and sets the other data
// of h from them. dups is as in msg.Scan.
func finishRequest(h *msg.RequestHead, dups uint64, lim *Limits) error {
	const both = 1<<msg.ContentLength | 1<<msg.TransferEncoding
	if err := checkHost(h, dups, lim); err != nil {
		return err
	}
	seen := h.Seen()
	if seen&framingIDs == 0 && dups&(1<<msg.ContentType) == 0 {
		return nil
	}
	if seen&both != 0 {
		length, err := framing(&h.Fields, h.Minor, dups, lim.dialect())
		if err != nil {
			return err
		}
		h.ContentLength = length
	}
	if seen&(1<<msg.Connection) != 0 {
		h.Conn = connection(&h.Fields, dups)
		if h.Minor == 0 && h.Conn&msg.ConnKeepAlive == 0 {
			h.Conn &^= msg.ConnUpgrade // the connection ends
		}
	}
	if dups&(1<<msg.ContentType) != 0 {
		oneOnly(&h.Fields, msg.ContentType, lim.dialect().takesLastType())
	}
	if seen&both == both {
		h.Conn |= msg.ConnClose
	}
	if seen&(1<<msg.Expect) != 0 && h.Minor > 0 { // RFC 9110 section 10.1.1
		h.Expect = head.Expectation(&h.Fields)
	}
	return nil
}

// oneOnly deletes all fields with id except the first or, if last is true, except the
// last. Content-Type has one value (RFC 9110 section 8.3): a program that checks it and a
// server to which the message is forwarded must not find different values.
func oneOnly(f *msg.Fields, id msg.ID, last bool) {
	i := f.Find(id)
	for next := f.Next(i); next >= 0; next = f.Next(next) {
		if last {
			f.DelAt(i)
			i = next
			continue
		}
		f.DelAt(next)
	}
}

// checkHost enforces RFC 9112 section 3.2: there must be one valid Host; only HTTP/1.0
// may omit it. See Limits.Hosts for several.
func checkHost(h *msg.RequestHead, dups uint64, lim *Limits) error {
	i := h.Find(msg.Host)
	if i < 0 {
		if h.Minor == 0 {
			return nil
		}
		return ErrNoHost
	}
	if dups&(1<<msg.Host) != 0 {
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

// framing returns the length of the body by Transfer-Encoding and Content-Length (RFC
// 9112 section 6.3). It refuses ambiguous framing: both fields, one of them twice, and
// every coding except "chunked". If d accepts both fields, Transfer-Encoding is used and
// Content-Length is deleted; the caller makes the connection close.
func framing(f *msg.Fields, minor uint8, dups uint64, d Dialect) (length int64, err error) {
	cl, te := f.Find(msg.ContentLength), f.Find(msg.TransferEncoding)
	switch {
	case te >= 0 && cl >= 0 && !(d.takesLengthAndCoding() && dups&(1<<msg.ContentLength) == 0):
		return 0, ErrLengthAndCoding
	case te >= 0:
		if minor == 0 {
			return 0, ErrCodingHTTP10
		}
		if dups&(1<<msg.TransferEncoding) != 0 || !bytesconv.EqualFoldString(f.Value(te), "chunked") {
			return 0, codingError(f, te)
		}
		if cl < 0 {
			return msg.LenChunked, nil
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

// codingError returns the error for Transfer-Encoding fields, from field i on, that are
// something else than "chunked": ErrCodingUnsupported for a list with an unknown coding,
// otherwise ErrCoding.
func codingError(f *msg.Fields, i int) error {
	unsupported := false
	for ; i >= 0; i = f.Next(i) {
		for v := f.Value(i); len(v) > 0; {
			var elem []byte
			if elem, v = bytesconv.NextElement(v); len(elem) == 0 {
				continue
			}
			if !bytesconv.IsToken(elem) {
				return ErrCoding
			}
			unsupported = unsupported || !bytesconv.EqualFoldString(elem, "chunked")
		}
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
		return head.ParseConnection(f.Value(i))
	}
	for ; i >= 0; i = f.Next(i) {
		c |= head.ParseConnection(f.Value(i))
	}
	return c
}
