package adaptor

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/msg"
)

// ConvertRequest makes r what ctx.Request says, for a handler (forServer) or for
// a client. The body is read to its end for that, also where it is a stream;
// NewFastHTTPHandler doesn't do that.
//
// r gets copies and may be kept, except for its Body, which is good until the
// handler returns. (In fasthttpadaptor nothing of r may be used any longer.) A
// header map that r has is emptied and used again.
//
// It returns an error if the request target is no URI that package net/url
// understands.
func ConvertRequest(ctx *gale.RequestCtx, r *http.Request, forServer bool) error {
	body := ctx.PostBody()
	if err := new(fields).read(r, ctx, new(url.URL)); err != nil {
		return err
	}
	r.Trailer = trailers(ctx, r.Trailer)
	if !forServer {
		r.RequestURI = "" // a client refuses requests with one
		if r.Trailer != nil {
			r.TransferEncoding = []string{"chunked"} // for the trailer section
		}
	}
	r.ContentLength = int64(len(body))
	r.Body = http.NoBody
	if len(body) > 0 || r.TransferEncoding != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if r.TransferEncoding != nil {
		r.ContentLength = -1
	}
	return nil
}

// fields converts a request without its body. All strings are parts of one.
type fields struct {
	text   strings.Builder
	values []string // the values of all fields, each a slice of length 1

	addr     *net.TCPAddr // the last one that address was asked for
	addrText string
}

// address returns the text of a. That of a connection is made once, mostly.
func (f *fields) address(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if t != f.addr {
		f.addr, f.addrText = t, t.String()
	}
	return f.addrText
}

// str copies b.
func (f *fields) str(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	f.text.Write(b)
	s := f.text.String()
	return s[len(s)-len(b):]
}

// value returns v as the values of a field that has one.
func (f *fields) value(v string) []string {
	f.values = append(f.values, v)
	n := len(f.values)
	return f.values[n-1 : n : n]
}

// room is what a request takes beside its fields as they were received.
const room = 64

// read fills r, except its body; u becomes its URL.
func (f *fields) read(r *http.Request, ctx *gale.RequestCtx, u *url.URL) error {
	h := &ctx.Request.Header
	target := h.RequestURI()
	f.text.Grow(len(h.RawHeaders()) + len(target) + room)
	r.Method = f.method(h.Method())
	r.RequestURI = f.str(target)
	if err := parseTarget(u, r.Method, r.RequestURI); err != nil {
		return fmt.Errorf("adaptor: the request target is no URI: %w", err)
	}
	r.URL = u
	f.protocol(r, h.Protocol())
	r.Host = u.Host
	if r.Host == "" {
		r.Host = f.str(h.Host())
	}
	r.Close = h.ConnectionClose()
	r.RemoteAddr = f.address(ctx.RemoteAddr())
	r.TLS = ctx.TLSConnectionState()
	r.ContentLength, r.TransferEncoding = int64(h.ContentLength()), nil
	if r.ContentLength == -1 {
		r.TransferEncoding = []string{"chunked"}
	} else if r.ContentLength < 0 {
		r.ContentLength = 0
	}
	f.header(r, ctx)
	return nil
}

// method returns m, without a copy of the usual ones.
func (f *fields) method(m []byte) string {
	switch string(m) {
	case http.MethodGet:
		return http.MethodGet
	case http.MethodPost:
		return http.MethodPost
	case http.MethodPut:
		return http.MethodPut
	case http.MethodDelete:
		return http.MethodDelete
	case http.MethodHead:
		return http.MethodHead
	case http.MethodPatch:
		return http.MethodPatch
	case http.MethodOptions:
		return http.MethodOptions
	}
	return f.str(m)
}

func (f *fields) protocol(r *http.Request, p []byte) {
	switch string(p) {
	case "HTTP/1.1":
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	case "HTTP/1.0":
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
	default:
		var ok bool
		if r.Proto = f.str(p); !strings.Contains(r.Proto, ".") {
			r.Proto += ".0" // "HTTP/2", as people say
		}
		if r.ProtoMajor, r.ProtoMinor, ok = http.ParseHTTPVersion(r.Proto); !ok {
			r.ProtoMajor, r.ProtoMinor = 1, 1
		}
	}
}

// header fills r.Header with the fields that net/http has there: not Host,
// Transfer-Encoding and Trailer, which r has elsewhere.
func (f *fields) header(r *http.Request, ctx *gale.RequestCtx) {
	h := &ctx.Request.Header
	n := bytes.Count(h.RawHeaders(), []byte{'\n'})
	if cap(f.values) < n {
		f.values = make([]string, 0, n)
	}
	if r.Header == nil {
		r.Header = make(http.Header, n)
	} else {
		clear(r.Header)
	}
	for k, v := range h.AllInOrder() {
		id := msg.Lookup(k)
		switch id {
		case msg.Host, msg.TransferEncoding, msg.Trailer:
			continue
		}
		name := f.name(id, k)
		if prior := r.Header[name]; prior != nil {
			r.Header[name] = append(prior, f.str(v))
			continue
		}
		r.Header[name] = f.value(f.str(v))
	}
}

// name returns the name of a field in the spelling of net/http.
func (f *fields) name(id msg.ID, name []byte) string {
	if id != msg.Unknown {
		return knownNames[id]
	}
	return http.CanonicalHeaderKey(f.str(name))
}

// knownNames are the names of known fields in the spelling of net/http.
var knownNames = func() (t [64]string) {
	for id := range t {
		if s := msg.ID(id).String(); s != "" {
			t[id] = http.CanonicalHeaderKey(s)
		}
	}
	return t
}()

// trailers returns the fields of the trailer section as far as it was read,
// and those that were declared without a value. t is used again if there are any.
func trailers(ctx *gale.RequestCtx, t http.Header) http.Header {
	clear(t)
	h := &ctx.Request.Header
	if h.ContentLength() != -1 && len(h.PeekTrailerKeys()) == 0 {
		return nil
	}
	for name := range h.Trailers() {
		if t == nil {
			t = make(http.Header)
		}
		t[http.CanonicalHeaderKey(string(name))] = nil
	}
	for name, value := range ctx.Trailers() {
		if t == nil {
			t = make(http.Header)
		}
		t.Add(string(name), string(value))
	}
	if ctx.ConnRequestNum() == 0 { // read by Request.Read, or made up
		for line := range bytes.SplitSeq(h.TrailerHeader(), []byte("\r\n")) {
			if name, value, ok := bytes.Cut(line, []byte(": ")); ok {
				t.Add(string(name), string(value))
			}
		}
	}
	if len(t) == 0 {
		return nil
	}
	return t
}

// parseTarget makes u of a request target (RFC 9112 section 3.2).
func parseTarget(u *url.URL, method, target string) error {
	if parsePath(u, target) {
		return nil
	}
	authority := method == http.MethodConnect && !strings.HasPrefix(target, "/")
	if authority {
		target = "http://" + target
	}
	p, err := url.ParseRequestURI(target)
	if err != nil {
		return err
	}
	*u = *p
	if authority {
		u.Scheme = ""
	}
	return nil
}

// parsePath is url.ParseRequestURI for a path with nothing in it that would have
// to be escaped or unescaped, and perhaps a query.
func parsePath(u *url.URL, target string) bool {
	if target == "" || target[0] != '/' {
		return false
	}
	path, query := target, ""
	for i := 0; i < len(path); i++ {
		if plainInPath[path[i]] {
			continue
		}
		if path[i] != '?' || i == len(path)-1 {
			return false
		}
		path, query = target[:i], target[i+1:]
	}
	for i := 0; i < len(query); i++ {
		if query[i] <= ' ' || query[i] >= 0x7f {
			return false
		}
	}
	u.Path, u.RawQuery = path, query
	return true
}

// plainInPath are the characters that stand for themselves in the path of a URL
// and in its decoded form.
var plainInPath = func() (t [256]bool) {
	for c := range t {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' && c < 0x80
		t[c] = letter || '0' <= c && c <= '9' || c < 0x80 && strings.IndexByte("-._~$&+,/:;=@", byte(c)) >= 0
	}
	return t
}()

// addTrailers adds the fields of the trailer section to t.
func addTrailers(t http.Header, ctx *gale.RequestCtx) {
	if t == nil {
		return
	}
	for name, value := range ctx.Trailers() {
		t.Add(string(name), string(value))
	}
}
