package head

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// Expectation returns the expectation in the Expect fields, which are one list (RFC 9110
// section 10.1.1). A list without elements is malformed: an unknown expectation.
func Expectation(f *msg.Fields) msg.Expectation {
	i := f.Find(msg.Expect)
	if i < 0 {
		return msg.ExpectNone
	}
	e := msg.ExpectOther
	for ; i >= 0; i = f.Next(i) {
		for v := f.Value(i); len(v) > 0; {
			var elem []byte
			elem, v = bytesconv.NextElement(v)
			switch {
			case len(elem) == 0:
			case bytesconv.EqualFoldString(elem, "100-continue"):
				e = msg.ExpectContinue
			default:
				return msg.ExpectOther
			}
		}
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
		elem, v = bytesconv.NextElement(v)
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
