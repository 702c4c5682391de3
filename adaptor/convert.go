package adaptor

import (
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
)

// ConvertNetHTTPRequestToFastHTTPRequest makes req what r says. req is not reset
// before: call Reset if it was used.
//
// The body is not read but attached as a stream: r.Body is req's until that has
// read or closed it. The framing comes from the dedicated fields of r, never from
// its header: r.ContentLength bytes are sent, of a longer body no more, or, if
// that is not above 0, r.TransferEncoding says chunked or there are trailers, the
// body in the chunked coding. A body of nil or http.NoBody is none.
//
// The target is r.RequestURI, else that of r.URL, for CONNECT the authority that
// it names. An absolute target goes out as it is unless req.URI is called before,
// which makes it a path. The host is r.Host, else that of r.URL. The scheme is
// that of r.URL, else https if r.TLS is set.
//
// Credentials in a URL become an Authorization field, unless r.Header has one,
// and never stay in the target (RFC 9110 section 4.2.4). Trailer fields go along
// where there is a body, with the values they have when it ends; those that must
// not be in a trailer section are left out. Without a Content-Type in r.Header,
// none is sent. Versions above HTTP/1.1 become HTTP/1.1, HTTP/1.0 does where the
// body is chunked. RemoteAddr, Form and the context of r are left out.
func ConvertNetHTTPRequestToFastHTTPRequest(r *http.Request, req *gale.Request) {
	convertRequest(r, req, true)
}

// convertRequest leaves trailer fields out unless trailers is true.
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

// isChunked reports whether the body goes out in the chunked coding.
func isChunked(r *http.Request) bool {
	return hasContent(r) && (r.ContentLength <= 0 || r.ContentLength >= math.MaxInt ||
		slices.Contains(r.TransferEncoding, "chunked") || len(r.Trailer) > 0)
}

// copyHeader copies the fields that don't come from elsewhere.
func copyHeader(h *gale.RequestHeader, from http.Header) {
	if len(from["Content-Type"]) == 0 {
		h.SetNoDefaultContentType(true)
	}
	for k, vv := range from {
		switch http.CanonicalHeaderKey(k) {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
			continue
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
	host := r.Host
	if host == "" {
		host = u.Host
	}
	target := r.RequestURI
	if target == "" {
		target = targetOf(r.Method, u, host)
	}
	bare, user := cutUser(r.Method, target)
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
		return // it says the scheme, or has none
	}
	switch {
	case u.Scheme != "" && u.Scheme != "http":
		req.URI().SetScheme(u.Scheme)
	case u.Scheme == "" && r.TLS != nil:
		req.URI().SetScheme("https")
	}
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

// cutUser cuts credentials out of a target that names an authority.
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

// attachBody makes r.Body the body of req.
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
		// The sender of r may have chosen the names: what r.Header says under one of
		// them goes before.
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
	sized    bool
	left     int64 // bytes to come, if sized

	served bool  // a handler reads it, and what it reads is bounded
	n      int64 // bytes that were read, if so
	limit  int64 // most bytes that are read, 0 for no limit

	reading, closed atomic.Bool // closed by CloseRequestBody
}

// errBodyClosed is what Read returns after RequestCtx.CloseRequestBody.
var errBodyClosed = fmt.Errorf("adaptor: %w", door.ErrBodyClosed)

// ReadsWhole bounds what a handler reads into memory.
func (b *attachedBody) ReadsWhole() {
	if b.served && b.limit == 0 {
		b.limit = gale.DefaultMaxRequestBodySize
	}
}

// WholeLimit returns the limit for BindJSON.
func (b *attachedBody) WholeLimit() int64 {
	if b.limit > 0 {
		return b.limit
	}
	return gale.DefaultMaxRequestBodySize
}

// StreamedFormLimit says that forms have no limit of their own where the body has.
func (b *attachedBody) StreamedFormLimit() int64 {
	if b.limit > 0 {
		return -1
	}
	return 0
}

// errBodyTooLong is what reading a body returns after r.ContentLength bytes if
// there are more.
var errBodyTooLong = errors.New("adaptor: the body is longer than Request.ContentLength")

// Read reads r.Body, no more of it than announced, and at its end takes the
// values of trailer fields, which net/http knows only then.
func (b *attachedBody) Read(p []byte) (n int, err error) {
	b.reading.Store(true) // before closed is looked at, see outer.CloseBody
	defer b.reading.Store(false)
	if b.closed.Load() {
		return 0, errBodyClosed
	}
	if b.limit > 0 && int64(len(p)) > b.limit-b.n+1 {
		p = p[:max(b.limit-b.n+1, 0)]
	}
	if b.sized {
		n, err = b.readSized(p)
	} else {
		n, err = b.readChunked(p)
	}
	if b.n += int64(n); b.limit > 0 && b.n > b.limit {
		return 0, gale.ErrBodyTooLarge
	}
	if tooLarge := (*http.MaxBytesError)(nil); err != nil && errors.As(err, &tooLarge) {
		err = fmt.Errorf("%w: %w", gale.ErrBodyTooLarge, err) // so that the answer is 413
	}
	return n, err
}

func (b *attachedBody) readChunked(p []byte) (n int, err error) {
	if n, err = b.r.Body.Read(p); err == io.EOF {
		for _, name := range b.trailers {
			setTrailer(b.h, name, b.r.Trailer[name])
		}
	}
	return n, err
}

func (b *attachedBody) readSized(p []byte) (n int, err error) {
	if b.left > 0 {
		n, err = b.r.Body.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
	}
	if b.left > 0 || err != nil {
		return n, err
	}
	// Like net/http, make sure that this was all.
	var more [1]byte
	switch m, err := io.ReadFull(b.r.Body, more[:]); {
	case m > 0:
		return n, errBodyTooLong
	default:
		return n, err
	}
}

// Close closes r.Body.
func (b *attachedBody) Close() error { return b.r.Body.Close() }
