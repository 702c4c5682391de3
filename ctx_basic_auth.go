package gale

import (
	"bytes"
	"encoding/base64"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// BasicAuth returns the user name and the password of a request with `Authorization:
// Basic` (RFC 7617). The first colon separates them. The name may be empty, and both may
// have any bytes except control characters: check for UTF-8 where it matters. If the
// request has no Authorization header or several, or if the header has another scheme,
// control characters (RFC 7617 section 2) or is malformed, ok is false.
//
// Compare passwords with subtle.ConstantTimeCompare, and answer requests without valid
// ones with 401 and `WWW-Authenticate: Basic realm="..."`.
func (ctx *RequestCtx) BasicAuth() (user, password string, ok bool) {
	used(ctx.loan)
	f := &ctx.Request.Header.s.Fields
	i := f.Find(msg.Authorization)
	if i < 0 || f.Next(i) >= 0 {
		return "", "", false
	}
	return parseBasicAuth(f.Value(i))
}

// parseBasicAuth reads
//
//	credentials = "Basic" 1*SP token68
func parseBasicAuth(v []byte) (user, password string, ok bool) {
	const scheme = "Basic "
	if len(v) < len(scheme) || !bytesconv.EqualFoldString(v[:len(scheme)], scheme) {
		return "", "", false
	}
	v = bytes.Trim(v[len(scheme):], " ")
	var room [128]byte
	b, err := base64.StdEncoding.AppendDecode(room[:0], v)
	if err != nil {
		return "", "", false
	}
	colon := -1
	for i, c := range b {
		if c < ' ' || c == 0x7f {
			return "", "", false
		}
		if c == ':' && colon < 0 {
			colon = i
		}
	}
	if colon < 0 {
		return "", "", false
	}
	s := string(b)
	return s[:colon], s[colon+1:], true
}
