package gale

import (
	"bytes"
	"encoding/base64"
	"mime"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
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

var (
	errQueryPair  = newBareError("a pair of the query is malformed: others leave it out")
	errFormPair   = newBareError("a pair of the form is malformed: others leave it out")
	errFormLarge  = newBareError("the form has more than 10 MiB: others read nothing of it")
	errFormType   = newBareError("the Content-Type is malformed: others may find another form in the body")
	errCookiePair = newBareError("a cookie is malformed: others leave it out, or read another value")
)

// CheckPairs returns an error if the query, a urlencoded form or a Cookie field has a pair that
// packages net/url and net/http read in another way than QueryArgs, PostArgs and Cookie. These are
// lenient. net/url and net/http leave such a pair out, so that the first value of its name may be
// another one for what a handler hands the request to. A handler that looks for a value to
// refuse the request, and hands it on otherwise, calls CheckPairs and answers 400. The request is
// handed on as it came.
//
// It is an error if
//
//   - a pair of the query or of the form has a ";", or a "%" without two hex digits
//   - the target has a "#", at which the query ends for Gale only
//   - the form has more than 10 MiB: net/http reads none of it
//   - there are more than 10,000 of them, or more than 3,000 cookies
//   - a cookie has no "=", a name that isn't a token (RFC 9110 section 5.6.2), a value with a space
//     before it, or with bytes other than visible ASCII and spaces, or with a double quote or a
//     backslash
//   - only one of the two takes the body for a urlencoded form by its Content-Type
//
// CheckPairs reads the body of such a form, as PostArgs does. If that fails, it returns the error.
// It says nothing about multipart forms; see MultipartForm.
func (req *Request) CheckPairs() error {
	if bytes.IndexByte(req.Header.target(), '#') >= 0 || isMalformedQuery(req.URI().QueryString()) {
		return errQueryPair
	}
	if err := req.checkCookies(); err != nil {
		return err
	}
	const form = "application/x-www-form-urlencoded"
	contentType := req.Header.ContentType()
	if len(contentType) == 0 {
		return nil
	}
	here := isMediaType(contentType, form)
	read, _, _ := mime.ParseMediaType(string(contentType))
	switch {
	case here != (read == form):
		return errFormType
	case !here:
		return nil
	}
	body, err := req.wholeBody()
	switch {
	case err != nil:
		return err
	case len(body) > maxSureForm:
		return errFormLarge
	case isMalformedQuery(body):
		return errFormPair
	}
	return nil
}

// maxSureForm is the largest form in bytes that net/http reads. Gale reads larger ones.
const maxSureForm = 10 << 20

// isMalformedQuery reports whether q has a pair that package net/url leaves out.
func isMalformedQuery(q []byte) bool {
	if bytes.IndexByte(q, ';') >= 0 || bytes.Count(q, []byte{'&'}) >= maxParsedArgs {
		return true
	}
	for {
		i := bytes.IndexByte(q, '%')
		if i < 0 {
			return false
		}
		q = q[i+1:]
		if len(q) < 2 || bytesconv.HexValue[q[0]]|bytesconv.HexValue[q[1]] > 15 {
			return true
		}
	}
}

// maxSureCookies is how many cookies net/http reads. Gale reads more.
const maxSureCookies = 3000

// checkCookies returns an error if a cookie is malformed.
func (req *Request) checkCookies() error {
	f := &req.Header.s.Fields
	left := maxSureCookies
	for i := f.Find(msg.Cookie); i >= 0; i = f.Next(i) {
		for part := range bytes.SplitSeq(f.Value(i), []byte{';'}) {
			part = bytesconv.TrimOWS(part)
			if len(part) == 0 {
				continue
			}
			name, value, ok := bytes.Cut(part, []byte{'='})
			name = bytesconv.TrimOWS(name)
			if left--; left < 0 || !ok || len(name) == 0 || tokenLen(name) < len(name) || !isCookieValue(value) {
				return errCookiePair
			}
		}
	}
	return nil
}

// isCookieValue reports whether all programs read v as the same value of a cookie.
func isCookieValue(v []byte) bool {
	if len(v) > 0 && v[0] == ' ' {
		return false
	}
	for _, c := range v {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
