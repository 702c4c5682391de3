package gale

import (
	"iter"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

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
