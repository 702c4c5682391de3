package gale

import (
	"bytes"
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// Functions for fields that both request and response headers have.

var (
	strChunked  = []byte("chunked")
	strClose    = []byte("close")
	strSlash    = []byte("/")
	strHTTP11   = []byte("HTTP/1.1")
	strTextType = []byte("text/plain; charset=utf-8")
	commaSpace  = []byte(", ")
)

// trailerBit is head.TrailerBit.
const trailerBit = head.TrailerBit

// isClose reports whether the value of a Connection field is just "close".
func isClose(value []byte) bool {
	return bytesconv.EqualFoldString(bytes.Trim(value, " \t"), "close")
}

// putConnection returns the options of the Connection field that was put, in their
// written form: bytes that aren't text are spaces there.
func putConnection(f *msg.Fields) msg.Conn {
	if i := f.Find(msg.Connection); i >= 0 {
		return head.ParseConnection(f.Value(i))
	}
	return 0
}

// setProtocol sets the version of a start line:
//
//	HTTP-version = HTTP-name "/" DIGIT "." DIGIT     RFC 9112 section 2.3
//
// Control characters in v become spaces. Otherwise the caller must make sure that v
// is a version of HTTP. An empty version means HTTP/1.1.
func setProtocol(f *msg.Fields, minor *uint8, v []byte) {
	f.SetPart(msg.Proto, v)
	bytesconv.NeutralizeText(f.Part(msg.Proto))
	*minor = 1
	if string(v) == "HTTP/1.0" {
		*minor = 0
	}
}

// requestFirst are the fields that All yields first, in this order. The others
// follow. Connection is last.
var requestFirst = [...]msg.ID{
	msg.Host, msg.ContentLength, msg.ContentType, msg.UserAgent, msg.Trailer, msg.Cookie, msg.TransferEncoding,
}

// requestOwn are the fields that All doesn't yield among the others.
const requestOwn uint64 = 1<<msg.Host | 1<<msg.ContentLength | 1<<msg.ContentType | 1<<msg.UserAgent |
	1<<msg.Trailer | 1<<msg.Cookie | 1<<msg.TransferEncoding | 1<<msg.Connection

// All returns an iterator over the names and values of the fields: Host,
// Content-Length, Content-Type, User-Agent, Trailer, Cookie (one field with all
// cookies), Transfer-Encoding, then the others in order, then Connection. Fields of
// the trailer section are left out. AllInOrder yields fields in the order in which
// they came. The bytes are borrowed: they are valid until h changes or the handler
// returns.
//
// The header must not be changed during the iteration.
func (h *RequestHeader) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) { h.visit(yield) }
}

func (h *RequestHeader) visit(yield func(k, v []byte) bool) {
	used(h.s.Loan)
	for _, id := range requestFirst {
		v := h.peekID(id)
		if (len(v) > 0 || h.s.NoSpecial && h.s.Has(id)) && !yield(id.Name(), v) {
			return
		}
	}
	if !h.s.Visit(requestOwn, h.s.Spelling, yield) {
		return
	}
	if v := h.connection(); v != nil {
		yield(msg.Connection.Name(), v)
	}
}

func (h *RequestHeader) peekID(id msg.ID) []byte {
	if requestDerived&(1<<id) != 0 {
		return h.peekDerived(id)
	}
	return h.s.Peek(id)
}

// AllInOrder returns an iterator over the names and values of the fields in the
// order in which they were received or set. For a header that was received, it
// yields the fields as they came; several Cookie or Trailer fields are not joined.
// The bytes are borrowed: they are valid until h changes or the handler returns.
//
// The header must not be changed during the iteration.
func (h *RequestHeader) AllInOrder() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) { h.visitInOrder(yield) }
}

func (h *RequestHeader) visitInOrder(yield func(k, v []byte) bool) {
	used(h.s.Loan)
	f := &h.s.Fields
	list, own := h.s.Trailers.Apart(h.s.Spelling)
	for i := 0; i < len(f.Recs); i++ {
		r := &f.Recs[i]
		if r.Flags&msg.Dead != 0 {
			continue
		}
		v := f.Value(i)
		if r.ID == msg.Trailer && len(v) == 0 {
			v, own = list, false
		}
		if !yield(f.NameAs(i, h.s.Spelling), v) {
			return
		}
	}
	if own && !yield(msg.Trailer.Name(), list) {
		return
	}
	for _, id := range [...]msg.ID{msg.ContentLength, msg.TransferEncoding, msg.Cookie, msg.Connection} {
		if f.Has(id) || id == msg.Connection && h.s.Conn&msg.ConnClose == 0 {
			continue
		}
		if v := h.peekDerived(id); len(v) > 0 && !yield(id.Name(), v) {
			return
		}
	}
}

// VisitAll calls f for the name and the value of each field, in the order of All.
// The bytes are borrowed: they are valid until f returns.
//
// Deprecated: use All.
func (h *RequestHeader) VisitAll(f func(key, value []byte)) {
	for k, v := range h.All() {
		f(k, v)
	}
}

// VisitAllInOrder calls f for the name and the value of each field, in the order of
// AllInOrder. The bytes are borrowed: they are valid until f returns.
//
// Deprecated: use AllInOrder.
func (h *RequestHeader) VisitAllInOrder(f func(key, value []byte)) {
	for k, v := range h.AllInOrder() {
		f(k, v)
	}
}

// Len returns the number of fields that All yields.
func (h *RequestHeader) Len() int {
	n := 0
	for range h.All() {
		n++
	}
	return n
}

// PeekKeys returns the names of the fields that All yields. The outer slice is
// overwritten by the next call of PeekAll or PeekKeys. The bytes are borrowed: they
// are valid until h changes or the handler returns.
func (h *RequestHeader) PeekKeys() [][]byte {
	h.text.values = h.text.values[:0]
	for k := range h.All() {
		h.text.values = append(h.text.values, k)
	}
	return h.text.values
}

// RawHeaders returns the field lines of a received header with the empty line at
// the end, byte for byte, even if the header was changed since. It is empty if the
// header has no fields or wasn't received. The bytes are borrowed: they are valid
// until h changes or the handler returns.
func (h *RequestHeader) RawHeaders() []byte {
	used(h.s.Loan)
	raw := h.s.Part(msg.Raw)
	if len(raw) <= len("\r\n") {
		return nil
	}
	return raw
}

// responseOwn are the fields that All doesn't yield among the others.
const responseOwn uint64 = 1<<msg.ContentLength | 1<<msg.ContentType | 1<<msg.ContentEncoding | 1<<msg.Server |
	1<<msg.SetCookie | 1<<msg.Trailer | 1<<msg.TransferEncoding | 1<<msg.Connection

// All returns an iterator over the names and values of the fields:
// Content-Length, Content-Type, each Content-Encoding, Server, each Set-Cookie,
// Trailer, Transfer-Encoding, then the others in order, then Connection. Fields
// of the trailer section are left out. The bytes are borrowed: they are valid
// until h changes or the handler returns.
//
// The header must not be changed during the iteration.
func (h *ResponseHeader) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) { h.visit(yield) }
}

func (h *ResponseHeader) visit(yield func(k, v []byte) bool) {
	used(h.s.Loan)
	show := func(id msg.ID, v []byte) bool { return len(v) == 0 || yield(id.Name(), v) }
	server := h.s.Peek(msg.Server) // not Server(), which also looks in the trailer section
	if v := h.s.Slot(msg.Server); v != nil {
		server = v
	} else if len(server) == 0 {
		server = bytesconv.S2B(h.defaultServer)
	}
	if !show(msg.ContentLength, h.peekDerived(msg.ContentLength)) ||
		!show(msg.ContentType, h.ContentType()) ||
		!h.showEncodings(yield) ||
		!show(msg.Server, server) {
		return
	}
	for i := h.s.Find(msg.SetCookie); i >= 0; i = h.s.Next(i) {
		if !yield(msg.SetCookie.Name(), h.s.Value(i)) {
			return
		}
	}
	if !show(msg.Trailer, h.peekDerived(msg.Trailer)) ||
		!show(msg.TransferEncoding, h.peekDerived(msg.TransferEncoding)) ||
		!h.s.Visit(responseOwn, h.s.Spelling, yield) {
		return
	}
	show(msg.Connection, h.connection())
}

func (h *ResponseHeader) showEncodings(yield func(k, v []byte) bool) bool {
	for i := h.s.Find(msg.ContentEncoding); i >= 0; i = h.s.Next(i) {
		if v := h.s.Value(i); len(v) > 0 && !yield(msg.ContentEncoding.Name(), v) {
			return false
		}
	}
	return true
}

// VisitAll calls f for the name and the value of each field, in the order of
// All. The bytes are borrowed: they are valid until f returns.
//
// Deprecated: use All.
func (h *ResponseHeader) VisitAll(f func(key, value []byte)) {
	for k, v := range h.All() {
		f(k, v)
	}
}

// Len returns the number of fields that All yields.
func (h *ResponseHeader) Len() int {
	n := 0
	for range h.All() {
		n++
	}
	return n
}

// PeekKeys returns the names of the fields that All yields. The outer slice is
// overwritten by the next call of PeekAll or PeekKeys. The bytes are borrowed:
// they are valid until h changes or the handler returns.
func (h *ResponseHeader) PeekKeys() [][]byte {
	h.text.values = h.text.values[:0]
	for k := range h.All() {
		h.text.values = append(h.text.values, k)
	}
	return h.text.values
}
