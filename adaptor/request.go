package adaptor

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pathrule"
)

// ConvertRequest converts ctx.Request into r, for a handler if forServer is true, else
// for a client. It reads the body to its end, even if it is a stream.
// NewFastHTTPHandler passes a stream on unread.
//
// r gets copies and may be kept, except for its Body, which is valid until the handler
// returns. (In fasthttpadaptor no part of r may be used after that.) If r has a header
// map, it is emptied and used again.
//
// It returns an error if package net/url can't parse the request target, or if r could be
// found below a prefix that ctx.Path hasn't; see "Paths" in the comment of the package. So it does
// if the body could not be read or was dropped (see Request.BodyError of package gale).
func ConvertRequest(ctx *gale.RequestCtx, r *http.Request, forServer bool) error {
	body, err := wholeBody(ctx)
	if err != nil {
		return err
	}
	f := fields{ctx: ctx, head: door.Of(ctx).Head(), refused: pathrule.Default}
	if err := f.read(r, new(url.URL)); err != nil {
		return err
	}
	r.Trailer = f.trailers(r.Trailer)
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

// fields converts a request without its body. The strings of the request are parts of one
// string, unless they are constants.
type fields struct {
	ctx  *gale.RequestCtx
	head *head.Request
	text string // the arena of head, and after it the address of the client

	refused pathrule.Parts // what the path must not have
}

// read fills r except for its body and trailers. It sets r.URL to u.
func (f *fields) read(r *http.Request, u *url.URL) error {
	h := &f.ctx.Request.Header
	door.SettleURI(&f.ctx.Request)
	r.RemoteAddr = f.copyText()
	r.Method = method(f.part(msg.Method))
	if r.RequestURI = f.part(msg.Target); r.RequestURI == "" {
		r.RequestURI = "/"
	}
	if err := pathrule.Check(r.RequestURI, f.refused.HandedOn(door.KeepsSlashes(&f.ctx.Request))); err != nil {
		return fmt.Errorf("adaptor: the request target %q: %w", r.RequestURI, err)
	}
	if err := parseTarget(u, r.Method, r.RequestURI); err != nil {
		return fmt.Errorf("adaptor: the request target is not a URI: %w", err)
	}
	r.URL = u
	protocol(r, f.part(msg.Proto))
	if r.Host = u.Host; r.Host == "" {
		if i := f.head.Find(msg.Host); i >= 0 {
			r.Host = f.value(&f.head.Recs[i])
		}
	}
	r.Close = h.ConnectionClose()
	r.TLS = f.ctx.TLSConnectionState()
	r.ContentLength, r.TransferEncoding = f.head.ContentLength, nil
	if r.ContentLength == msg.LenChunked {
		r.TransferEncoding = []string{"chunked"}
	} else if r.ContentLength < 0 {
		r.ContentLength = 0
	}
	f.header(r)
	return nil
}

// copyText makes f.text and returns the address of the client.
func (f *fields) copyText() (address string) {
	var room [64]byte
	buf, addr := f.head.Buf, f.appendAddress(room[:0])
	text := make([]byte, len(buf)+len(addr))
	copy(text, buf)
	copy(text[len(buf):], addr)
	f.text = bytesconv.B2S(text) // not written to anymore
	return f.text[len(buf):]
}

// appendAddress appends the address of the client, as its String method returns it.
func (f *fields) appendAddress(dst []byte) []byte {
	if a := engine.PeerOf(door.Of(f.ctx).Peer()); a.IsValid() {
		return appendAddrPort(dst, a)
	}
	return appendAddress(dst, f.ctx.RemoteAddr())
}

// appendAddress appends a.String().
func appendAddress(dst []byte, a net.Addr) []byte {
	t, ok := a.(*net.TCPAddr)
	if !ok || t == nil || t.Zone != "" || t.Port>>16 != 0 {
		return append(dst, a.String()...)
	}
	ip, ok := netip.AddrFromSlice(t.IP)
	if !ok {
		return append(dst, a.String()...)
	}
	return appendAddrPort(dst, netip.AddrPortFrom(ip.Unmap(), uint16(t.Port)))
}

// appendAddrPort is a.AppendTo(dst), but faster for IPv4.
func appendAddrPort(dst []byte, a netip.AddrPort) []byte {
	if !a.Addr().Is4() {
		return a.AppendTo(dst)
	}
	for _, b := range a.Addr().As4() {
		if b >= 100 {
			dst = append(dst, '0'+b/100)
		}
		if b >= 10 {
			dst = append(dst, '0'+b/10%10)
		}
		dst = append(dst, '0'+b%10, '.')
	}
	dst[len(dst)-1] = ':'
	return bytesconv.AppendInt(dst, int(a.Port()))
}

// part returns a part of the head.
func (f *fields) part(k int) string {
	p := f.head.Parts[k]
	return f.text[p.Off : p.Off+p.Len]
}

// value returns the value of a field.
func (f *fields) value(r *msg.Field) string { return f.text[r.ValOff : r.ValOff+r.ValLen] }

// method returns m, as a constant for common methods, so that keeping it doesn't keep the
// memory of the head.
func method(m string) string {
	switch m {
	case http.MethodGet, "":
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
	return m
}

func protocol(r *http.Request, p string) {
	switch p {
	case "HTTP/1.1", "":
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	case "HTTP/1.0":
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
	case "HTTP/2.0":
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	default:
		var ok bool
		if r.Proto = p; !strings.Contains(p, ".") {
			r.Proto += ".0" // from "HTTP/2"
		}
		if r.ProtoMajor, r.ProtoMinor, ok = http.ParseHTTPVersion(r.Proto); !ok {
			r.ProtoMajor, r.ProtoMinor = 1, 1
		}
	}
}

// elsewhere are the fields that r.Header doesn't have because other fields of r have
// them.
const elsewhere uint64 = 1<<msg.Host | 1<<msg.TransferEncoding | 1<<msg.Trailer

// header fills r.Header with the fields that net/http has there.
func (f *fields) header(r *http.Request) {
	recs := f.head.Recs
	n := 0
	for i := range recs {
		if f.shown(&recs[i]) {
			n++
		}
	}
	if r.Header == nil {
		r.Header = make(http.Header, n)
	} else {
		clear(r.Header)
	}
	if n > 0 {
		f.addFields(r.Header, make([]string, n))
	}
	f.addImplied(r.Header)
}

// shown reports whether net/http puts the field into Request.Header.
func (f *fields) shown(r *msg.Field) bool {
	return r.Flags&msg.Dead == 0 && elsewhere&(1<<r.ID) == 0
}

// addFields adds the fields to h. The values of each name are a part of the slice values,
// which has room for all.
func (f *fields) addFields(h http.Header, values []string) {
	recs := f.head.Recs
	has := uint64(0) // bits 1<<id of the known names in h
	for i := range recs {
		r := &recs[i]
		if !f.shown(r) {
			continue
		}
		name, v := f.name(r), f.value(r)
		if bit := uint64(1) << r.ID; r.ID == msg.Unknown || has&bit != 0 {
			if prior := h[name]; prior != nil {
				h[name] = append(prior, v)
				continue
			}
		} else {
			has |= bit
		}
		values[0] = v
		h[name] = values[:1:1]
		values = values[1:]
	}
}

// name returns the name of a field in the spelling of net/http.
func (f *fields) name(r *msg.Field) string {
	if r.ID != msg.Unknown {
		return knownNames[r.ID]
	}
	return http.CanonicalHeaderKey(f.text[r.NameOff : r.NameOff+uint32(r.NameLen)])
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

// addImplied adds the fields that are in the head but have no record.
func (f *fields) addImplied(h http.Header) {
	hd := f.head
	if hd.ContentLength > 0 || hd.LengthSet {
		f.addIfAbsent(h, msg.ContentLength)
	}
	if hd.CookieState == head.CookiesOwned {
		f.addIfAbsent(h, msg.Cookie)
	}
	if hd.Conn&msg.ConnClose != 0 {
		f.addIfAbsent(h, msg.Connection)
	}
}

func (f *fields) addIfAbsent(h http.Header, id msg.ID) {
	if f.head.Has(id) {
		return
	}
	if v := f.ctx.Request.Header.Peek(id.String()); len(v) > 0 {
		h[knownNames[id]] = []string{string(v)}
	}
}

// trailers returns the fields of the trailer section that were read, and the declared
// ones without a value. It uses t again if there are any.
func (f *fields) trailers(t http.Header) http.Header {
	clear(t)
	if f.head.ContentLength != msg.LenChunked && f.head.Seen()&head.TrailerBit == 0 {
		return nil
	}
	ctx, h := f.ctx, &f.ctx.Request.Header
	if f.head.ContentLength != msg.LenChunked && len(h.PeekTrailerKeys()) == 0 {
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
	if ctx.ConnRequestNum() == 0 { // read by Request.Read, or made by the program
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

// parseTarget parses a request target (RFC 9112 section 3.2) into u.
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

// parsePath is url.ParseRequestURI for a path, with or without a query, in which no byte
// must be escaped or unescaped.
func parsePath(u *url.URL, target string) bool {
	if target == "" || target[0] != '/' {
		return false
	}
	n := 1
	for n < len(target) && plainInPath[target[n]] {
		n++
	}
	path, query := target[:n], ""
	if n < len(target) {
		if query = target[n+1:]; target[n] != '?' || query == "" || !isQuery(query) {
			return false
		}
	}
	u.Path, u.RawQuery = path, query
	return true
}

// isQuery reports whether package net/url accepts q unchanged as a query.
func isQuery(q string) bool {
	for i := range len(q) {
		if q[i] <= ' ' || q[i] >= 0x7f {
			return false
		}
	}
	return true
}

// plainInPath are the characters that are the same in the path of a URL and in its
// decoded form.
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
