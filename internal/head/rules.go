package head

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// NextElement cuts the first element off a comma-separated list (RFC 9110 section 5.6.1)
// and returns it without the whitespace around it. It also returns empty elements. The
// slices point into list.
func NextElement(list []byte) (elem, rest []byte) {
	n := 0
	for n < len(list) && list[n] != ',' {
		n++
	}
	from, to := bytesconv.TrimRange(list, 0, n)
	if n < len(list) {
		rest = list[n+1:]
	}
	return list[from:to], rest
}

// Expectation returns the expectation in the Expect fields (RFC 9110 section 10.1.1).
func Expectation(f *msg.Fields) msg.Expectation {
	e := msg.ExpectNone
	for i := f.Find(msg.Expect); i >= 0; i = f.Next(i) {
		if !bytesconv.EqualFoldString(f.Value(i), "100-continue") {
			return msg.ExpectOther
		}
		e = msg.ExpectContinue
	}
	return e
}

// ParseConnection parses the value of a Connection field (RFC 9110 section 7.6.1).
// Elements that are not tokens count as unknown options.
func ParseConnection(v []byte) (c msg.Conn) {
	switch string(v) {
	case "keep-alive":
		return msg.ConnKeepAlive
	case "close":
		return msg.ConnClose
	}
	for len(v) > 0 {
		var elem []byte
		elem, v = NextElement(v)
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

// StatusHasBody reports whether a response with the status can have a body
// (RFC 9110 section 6.4.1). 0 means 200.
func StatusHasBody(status int) bool {
	return status >= 200 && status != 204 && status != 304 || status < 100
}

// IsHTTP10 reports whether the head was received as HTTP/1.0, where connections
// close unless a field asks to keep them alive (RFC 9112 section 9.3).
func IsHTTP10(f *msg.Fields) bool {
	return f.Parts[msg.Raw].Len > 0 && (string(f.Part(msg.Proto)) == "HTTP/1.0" || string(f.Part(msg.Proto)) == "HTTP/0.9")
}

var textClose = []byte("close")
