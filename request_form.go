package gale

import (
	"bytes"
	"encoding/base64"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/pool"
)

// PostArgs returns the arguments in a body of the type
// application/x-www-form-urlencoded, parsed when they are first asked for; none
// for a body of another type. A stream is read to its end for that; if it fails
// there are none, see BodyError. They belong to the request. What is set on them is sent
// as the body of a request that has no other.
func (req *Request) PostArgs() *Args {
	if !req.postArgsParsed {
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

// basicAuth returns the value of Authorization for a user (RFC 7617).
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

// appendBasicAuth puts the value of Authorization together in b.
func appendBasicAuth(b *pool.Buf, user, password []byte) []byte {
	b.B = append(append(append(b.B, user...), ':'), password...)
	from := len(b.B)
	b.B = base64.StdEncoding.AppendEncode(append(b.B, "Basic "...), b.B)
	return b.B[from:]
}

// authLen is how much room appendBasicAuth needs.
func authLen(user, password []byte) int {
	n := len(user) + 1 + len(password)
	return n + len("Basic ") + base64.StdEncoding.EncodedLen(n)
}
