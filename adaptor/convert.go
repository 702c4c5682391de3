package adaptor

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pathrule"
)

// ConvertNetHTTPRequestToFastHTTPRequest converts r into req. It doesn't reset req first:
// call Reset if req was used before.
//
// The body is not read but attached as a stream: r.Body belongs to req until req has read
// or closed it. The framing comes from the fields of the struct r, never from r.Header.
// If r.ContentLength is above 0, that many bytes are sent, and no more if the body is
// longer. If it is 0 or negative, or r.TransferEncoding says chunked, or r has trailers,
// the body is sent chunked. If r.Body is nil or http.NoBody, there is no body.
//
// The target is r.RequestURI or, if that is empty, the target in r.URL; for CONNECT, it
// is the authority. An absolute target is sent unchanged, unless req.URI is called first,
// which reduces it to a path. The host is r.Host or, if that is empty, the host of r.URL.
// The scheme is that of r.URL or, if it has none, https if r.TLS is set.
//
// Credentials in a URL become an Authorization header, unless r.Header has one, and never
// stay in the target (RFC 9110 section 4.2.4). If there is a body, trailers are sent with
// the values that they have when the body ends; names that are forbidden in trailers are
// left out. If r.Header has no Content-Type, none is sent, and no User-Agent if that is there and
// empty. Versions above HTTP/1.1 become
// HTTP/1.1, and so does HTTP/1.0 if the body is chunked. RemoteAddr, Form and the context
// of r are not converted. Of several values of Content-Type or User-Agent, the first one is
// taken. Neither path nor host are checked: a handler of net/http may have read them in another
// way than req.URI does; NewHTTPHandler refuses such requests.
func ConvertNetHTTPRequestToFastHTTPRequest(r *http.Request, req *gale.Request) {
	convertRequest(r, req, true)
}

// convertRequest is ConvertNetHTTPRequestToFastHTTPRequest. It leaves trailer fields out
// unless trailers is true.
func convertRequest(r *http.Request, req *gale.Request, trailers bool) {
	chunked := isChunked(r)
	h := &req.Header
	h.SetMethod(orGet(r.Method))
	if r.ProtoMajor == 1 && r.ProtoMinor == 0 && !chunked {
		h.SetProtocol("HTTP/1.0")
	} else {
		h.SetProtocol("HTTP/1.1")
	}
	copyHeader(h, r.Header)
	convertTarget(r, req)
	if r.Close {
		h.SetConnectionClose()
	}
	if hasContent(r) {
		attachBody(r, req, chunked, trailers)
	}
}

func orGet(method string) string {
	if method == "" {
		return http.MethodGet
	}
	return method
}

func hasContent(r *http.Request) bool { return r.Body != nil && r.Body != http.NoBody }

// isChunked reports whether the body is sent chunked.
func isChunked(r *http.Request) bool {
	return hasContent(r) && (r.ContentLength <= 0 || r.ContentLength >= math.MaxInt ||
		slices.Contains(r.TransferEncoding, "chunked") || len(r.Trailer) > 0)
}

// copyHeader copies the fields of r.Header, except those that come from other parts of r.
func copyHeader(h *gale.RequestHeader, from http.Header) {
	if first(from["Content-Type"]) == "" {
		h.SetNoDefaultContentType(true)
	}
	for k, vv := range from {
		switch name := canonicalName(k); name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
			continue
		case "Content-Type", "User-Agent": // the first value counts, as in net/http and for a Server
			if k != name && len(from[name]) > 0 {
				continue
			}
			vv = vv[:min(len(vv), 1)]
			if name == "User-Agent" && first(vv) == "" {
				door.HeadIn(h).(*head.Request).NoDefaultAgent = true // as a client of net/http
			}
		case "Connection":
			if len(vv) > 1 { // Add would replace it
				h.Set(k, strings.Join(vv, ", "))
				continue
			}
		}
		for i, v := range vv {
			if i == 0 {
				h.Set(k, v)
			} else {
				h.Add(k, v)
			}
		}
	}
}

// convertTarget sets target, host, scheme and credentials.
func convertTarget(r *http.Request, req *gale.Request) {
	u := r.URL
	if u == nil {
		u = new(url.URL)
	}
	host := cmp.Or(r.Host, u.Host)
	bare, user := cutUser(r.Method, requestTarget(r, u, host))
	if user == nil {
		user = u.User
	}
	if user != nil && len(r.Header["Authorization"]) == 0 {
		password, _ := user.Password()
		req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	req.SetRequestURI(bare)
	req.Header.SetHost(host)
	if isAbsolute(bare) || r.Method == http.MethodConnect && !strings.HasPrefix(bare, "/") {
		return // the target has the scheme, or there is none
	}
	switch {
	case u.Scheme != "" && u.Scheme != "http":
		req.URI().SetScheme(u.Scheme)
	case u.Scheme == "" && r.TLS != nil:
		req.URI().SetScheme("https")
	}
}

// requestTarget returns the target of r, whose URL is u.
func requestTarget(r *http.Request, u *url.URL, host string) string {
	if r.RequestURI != "" {
		return r.RequestURI
	}
	return targetOf(r.Method, u, host)
}

// checkTarget returns an error if the target or the host of r isn't what a Gale server accepts,
// if the target has another host, or if its path has a part of refused.
func checkTarget(r *http.Request, refused pathrule.Parts) error {
	u := r.URL
	if u == nil {
		u = new(url.URL)
	}
	host := cmp.Or(r.Host, u.Host)
	target := requestTarget(r, u, host)
	bare, _ := cutUser(r.Method, target)
	switch authority, ok := authorityOf(r.Method, target); {
	case !h1.ValidTarget(r.Method, bare):
		return h1.ErrTarget
	case !h1.ValidHost([]byte(host)), ok && !strings.EqualFold(authority, host):
		return h1.ErrHost
	}
	return pathrule.Check(bare, refused)
}

// authorityOf returns host and port of a target in absolute-form or authority-form. ok is false
// for other forms.
func authorityOf(method, target string) (authority string, ok bool) {
	switch {
	case strings.HasPrefix(target, "/"):
		return "", false
	case isAbsolute(target):
		_, authority, _ = strings.Cut(target, "://")
		if end := strings.IndexAny(authority, "/?#"); end >= 0 {
			authority = authority[:end]
		}
	case method == http.MethodConnect:
		authority = target
	default:
		return "", false
	}
	return authority[strings.LastIndexByte(authority, '@')+1:], true
}

// targetOf returns the request-target for u (RFC 9112 section 3.2).
func targetOf(method string, u *url.URL, host string) string {
	if method != http.MethodConnect || u.Path != "" {
		return u.RequestURI()
	}
	if u.Opaque != "" {
		return u.Opaque
	}
	return host
}

// isAbsolute reports whether the target is a URI with an authority.
func isAbsolute(target string) bool {
	scheme, _, ok := strings.Cut(target, "://")
	return ok && scheme != "" && !strings.ContainsAny(scheme, "/?#@")
}

// cutUser removes the credentials from a target that has an authority.
func cutUser(method, target string) (string, *url.Userinfo) {
	if strings.HasPrefix(target, "/") || !strings.Contains(target, "@") {
		return target, nil
	}
	if isAbsolute(target) {
		u, err := url.Parse(target)
		if err != nil || u.User == nil {
			return target, nil
		}
		return u.RequestURI(), u.User
	}
	if method != http.MethodConnect {
		return target, nil
	}
	u, err := url.Parse("//" + target)
	if err != nil || u.User == nil {
		return target, nil
	}
	return u.Host, u.User
}

// attachBody sets the body of req to r.Body.
func attachBody(r *http.Request, req *gale.Request, chunked, trailers bool) {
	b := &attachedBody{r: r, h: &req.Header}
	if trailers {
		b.announce()
	}
	if chunked {
		req.SetBodyStream(b, -1)
		return
	}
	b.left, b.sized = r.ContentLength, true
	req.SetBodyStream(b, int(r.ContentLength))
}

// announce declares the trailer fields.
func (b *attachedBody) announce() {
	for name, values := range b.r.Trailer {
		// The sender of r may have chosen the names. If r.Header has a field of that
		// name, the field takes precedence.
		if len(b.h.PeekAll(name)) > 0 || b.h.AddTrailer(name) != nil {
			continue
		}
		b.trailers = append(b.trailers, name)
		setTrailer(b.h, name, values)
	}
}

func setTrailer(h *gale.RequestHeader, name string, values []string) {
	if len(values) > 0 {
		h.Set(name, strings.Join(values, ", "))
	}
}

// attachedBody is the body of a converted request.
type attachedBody struct {
	r        *http.Request
	h        *gale.RequestHeader
	trailers []string
	passed   bool // a client takes the trailers, see door.TrailerLender
	sized    bool
	left     int64 // bytes to come, if sized

	served bool         // a handler reads it, with a limit
	n      atomic.Int64 // bytes that were read
	limit  atomic.Int64 // most bytes that are read, 0 for no limit

	reading  atomic.Bool
	closed   atomic.Bool // Read fails, for example after CloseRequestBody
	notAsked atomic.Bool // a first Read fails with door.ErrNotAsked
	whole    atomic.Bool // it was read to its end
}

// errBodyClosed is what Read returns after RequestCtx.CloseRequestBody.
var errBodyClosed error = &door.BodyClosed{Text: "adaptor: the request body was closed", Done: gale.ErrRequestDone}

// Taken returns how many bytes of the body were read. Package reverse asks for it.
func (b *attachedBody) Taken() int64 { return b.n.Load() }

// ReadsWhole limits what a handler reads into memory.
func (b *attachedBody) ReadsWhole() {
	if b.served {
		b.limit.CompareAndSwap(0, gale.DefaultMaxRequestBodySize)
	}
}

// WholeLimit returns the limit for BindJSON.
func (b *attachedBody) WholeLimit() int64 {
	if limit := b.limit.Load(); limit > 0 {
		return limit
	}
	return gale.DefaultMaxRequestBodySize
}

// StreamedFormLimit returns the limit for forms. There is none if the body has a limit.
func (b *attachedBody) StreamedFormLimit() int64 {
	if b.limit.Load() > 0 {
		return -1
	}
	return 0
}

// errBodyTooLong is the error of Read after r.ContentLength bytes if the body has more.
var errBodyTooLong = errors.New("adaptor: the body is longer than Request.ContentLength")

// errBodyTooShort is the error of Read if the body ends before r.ContentLength bytes: a handler of
// net/http has read of it, or has set another body. net/http itself tells if the client breaks off.
var errBodyTooShort = fmt.Errorf("adaptor: the body is shorter than Request.ContentLength: %w", io.ErrUnexpectedEOF)

// Read reads r.Body, but no more bytes than announced. At the end it takes the values of
// trailer fields, because net/http has them only then.
func (b *attachedBody) Read(p []byte) (n int, err error) {
	b.reading.Store(true) // before closed is read, see outer.CloseBody
	defer b.reading.Store(false)
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	if b.notAsked.Load() && b.n.Load() == 0 {
		return 0, door.ErrNotAsked
	}
	limit := b.limit.Load()
	if room := limit - b.n.Load() + 1; limit > 0 && int64(len(p)) > room {
		p = p[:max(room, 0)]
	}
	if b.sized {
		n, err = b.readSized(p)
	} else {
		n, err = b.readChunked(p)
	}
	if err == io.EOF {
		b.whole.Store(true)
	}
	if sum := b.n.Add(int64(n)); limit > 0 && sum > limit {
		return 0, gale.ErrBodyTooLarge
	}
	if tooLarge := (*http.MaxBytesError)(nil); err != nil && errors.As(err, &tooLarge) {
		err = fmt.Errorf("%w: %w", gale.ErrBodyTooLarge, err) // so that the answer is 413
	}
	return n, err
}

func (b *attachedBody) readChunked(p []byte) (n int, err error) {
	if n, err = b.r.Body.Read(p); err == io.EOF && !b.passed {
		b.storeTrailers(b.h)
	}
	return n, err
}

func (b *attachedBody) storeTrailers(h *gale.RequestHeader) {
	for _, name := range b.trailers {
		setTrailer(h, name, b.r.Trailer[name])
	}
}

// LendTrailers implements door.TrailerLender.
func (b *attachedBody) LendTrailers(_ door.Seal, h any) bool {
	if h != any(b.h) {
		return false
	}
	if !b.served { // else the header never gets them
		b.passed = true
	}
	return true
}

// GiveTrailers implements door.TrailerLender.
func (b *attachedBody) GiveTrailers(_ door.Seal, header any) {
	h := header.(*gale.RequestHeader)
	if !b.served {
		b.storeTrailers(h)
		return
	}
	if b.whole.Load() {
		var f msg.Fields
		putTrailers(&f, b.r.Trailer)
		door.ReceiveTrailers(h, &f)
	}
}

// putTrailers appends the fields of a trailer section that have arrived.
func putTrailers(f *msg.Fields, t http.Header) {
	for name, values := range t {
		for _, v := range values {
			f.PutMore(msg.LookupString(name), []byte(name), []byte(v), msg.Normalized)
		}
	}
}

func (b *attachedBody) readSized(p []byte) (n int, err error) {
	if b.left > 0 {
		n, err = b.r.Body.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
	}
	if err == io.EOF && b.left > 0 {
		err = errBodyTooShort
	}
	if b.left > 0 || err != nil {
		return n, err
	}
	// Like net/http, check that there are no more bytes.
	var more [1]byte
	switch m, err := io.ReadFull(b.r.Body, more[:]); {
	case m > 0:
		return n, errBodyTooLong
	default:
		return n, err
	}
}

// Close closes r.Body. That of a request that a handler serves is left to net/http, as a Server's: the
// handler may have put b into another stream, and net/http would wait for the rest of the body.
func (b *attachedBody) Close() error {
	if b.served {
		return nil
	}
	return b.r.Body.Close()
}
