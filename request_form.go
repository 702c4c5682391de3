package gale

import (
	"bytes"
	"encoding/base64"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/pool"
)

// PostArgs returns the arguments in a body of media type
// application/x-www-form-urlencoded. The first call parses them. For a body of another
// type there are none. A stream is read to its end; if that fails there are none, and
// BodyError says why. If the request has no other body, arguments that are set on it
// are sent as the body. The Args is borrowed: it is valid until req is reset or the
// handler returns.
func (req *Request) PostArgs() *Args {
	if !req.postArgsParsed {
		if lapsed(req.loan) {
			return &req.postArgs
		}
		req.postArgsParsed = true
		if isMediaType(req.Header.ContentType(), "application/x-www-form-urlencoded") {
			if b := req.Body(); req.readErr == nil {
				req.postArgs.ParseBytes(b)
			}
		}
	}
	return &req.postArgs
}

// isMediaType reports whether a Content-Type is of the given type, ignoring case and
// parameters (RFC 9110 section 8.3.1).
func isMediaType(contentType []byte, want string) bool {
	t, _, _ := bytes.Cut(contentType, []byte{';'})
	return bytesconv.EqualFoldString(bytes.Trim(t, " \t"), want)
}

// basicAuth returns the value of Authorization for a user and a password (RFC 7617).
func basicAuth(user, password []byte) string {
	b := pool.Get(authLen(user, password))
	defer pool.Put(b)
	return string(appendBasicAuth(b, user, password))
}

// setBasicAuth sets Authorization for a user.
func (h *RequestHeader) setBasicAuth(user, password []byte) {
	b := pool.Get(authLen(user, password))
	h.SetBytesV(HeaderAuthorization, appendBasicAuth(b, user, password))
	pool.Put(b)
}

// appendBasicAuth appends the value of Authorization to b.
func appendBasicAuth(b *pool.Buf, user, password []byte) []byte {
	b.B = append(append(append(b.B, user...), ':'), password...)
	from := len(b.B)
	b.B = base64.StdEncoding.AppendEncode(append(b.B, "Basic "...), b.B)
	return b.B[from:]
}

// authLen is how many bytes appendBasicAuth needs.
func authLen(user, password []byte) int {
	n := len(user) + 1 + len(password)
	return n + len("Basic ") + base64.StdEncoding.EncodedLen(n)
}
