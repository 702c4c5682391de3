package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// ResponseHeader is the head of a response: the status line and the fields
// (RFC 9112 section 4, RFC 9110 section 5). The zero value is a 200 without
// fields. A ResponseHeader must not be copied by assignment, see CopyTo, nor be
// used by several goroutines at once.
//
// Names of fields are compared without regard to case (RFC 9110 section 5.1)
// and written with a capital letter after each hyphen ("foo-BAR" becomes
// "Foo-Bar") unless DisableNormalizing was called.
//
// Byte slices that methods return belong to the header: they are valid until
// the header changes, is reset or released, or the handler returns. Copy them to
// keep them, and don't write to them. Arguments are copied.
//
// No setter can make a head that breaks out of its line: a field whose name is
// no token (RFC 9110 section 5.6.2) is left out, and control characters in
// values become spaces.
type ResponseHeader struct {
	noCopy noCopy

	// s is the head. What it says about the body and the connection is kept
	// true by every setter.
	s msg.ResponseHead

	late lateFields // the trailer section

	server, contentType []byte // held fields
	opening             opening

	look         look
	asIs         bool // DisableNormalizing
	lengthSet    bool // a length of 0 was set, rather than being the zero value
	hideContents bool // errors of Read don't quote what was read

	defaultServer string // what the server writes if there is no Server

	digits [20]byte // what Peek("Content-Length") returns
	text   headerText
}

// responseSpecial are the fields that are more than a name and a value.
const responseSpecial uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection |
	1<<msg.SetCookie | 1<<msg.Trailer | 1<<msg.ContentType | 1<<msg.ContentEncoding | 1<<msg.Server | 1<<msg.Date

// responseOne are those of them of which there is one.
const responseOne uint64 = 1<<msg.ContentType | 1<<msg.ContentEncoding | 1<<msg.Server | 1<<msg.Date

// responseDerived are the fields whose value may be elsewhere than in a record.
const responseDerived uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection |
	1<<msg.SetCookie | 1<<msg.Trailer | 1<<msg.ContentType | 1<<msg.Server

// Reset makes the header the zero value again, settings included, and keeps its
// memory for the next use.
func (h *ResponseHeader) Reset() {
	h.s.Reset()
	h.late.reset()
	h.look, h.asIs, h.lengthSet, h.hideContents = 0, false, false, false
	h.defaultServer = ""
}

// resetFields is Reset without the settings.
func (h *ResponseHeader) resetFields() {
	h.s.Reset()
	h.late.reset()
	h.lengthSet = false
	h.look &^= ownServer | ownType
}

// CopyTo makes dst a copy of the header, settings included.
func (h *ResponseHeader) CopyTo(dst *ResponseHeader) {
	if dst == h {
		return
	}
	h.s.CopyTo(&dst.s)
	h.late.copyTo(&dst.late)
	dst.server = append(dst.server[:0], h.server...)
	dst.contentType = append(dst.contentType[:0], h.contentType...)
	dst.opening.second = clock.Mark{}
	dst.defaultServer = h.defaultServer
	dst.look, dst.asIs, dst.lengthSet, dst.hideContents = h.look, h.asIs, h.lengthSet, h.hideContents
}

// Peek returns the value of the first field called key, or nil if there is
// none. Finding a common field takes the same time however many there are.
//
// For Content-Type, Content-Length, Transfer-Encoding and Connection that is
// what the header says when it is written, whichever setter it comes from. For
// Set-Cookie it is all values, separated by "; "; see PeekCookie.
func (h *ResponseHeader) Peek(key string) []byte { return h.peek(bytesconv.S2B(key)) }

// PeekBytes is [ResponseHeader.Peek] for a []byte key.
func (h *ResponseHeader) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical is [ResponseHeader.PeekBytes] for a key in canonical spelling.
// fasthttp has it to save the normalising, which Peek does not do here, and
// compares with regard to case.
func (h *ResponseHeader) PeekCanonical(key []byte) []byte { return h.peek(key) }

func (h *ResponseHeader) peek(key []byte) []byte {
	id := msg.Lookup(key)
	if responseDerived&(1<<id) != 0 {
		return h.peekDerived(id)
	}
	if h.asIs && id == msg.Unknown {
		return peekExact(&h.s.Fields, h.late.f, key)
	}
	return h.peekPlain(id, key)
}

// peekPlain looks in the head and then in the trailer section.
func (h *ResponseHeader) peekPlain(id msg.ID, key []byte) []byte {
	if v := peekField(&h.s.Fields, id, key); v != nil {
		return v
	}
	return h.late.peek(id, key)
}

// section returns where a field is set.
func (h *ResponseHeader) section(name []byte) *msg.Fields {
	if h.s.Seen()&trailerBit == 0 {
		return &h.s.Fields
	}
	return h.late.section(&h.s.Fields, name, h.asIs)
}

func (h *ResponseHeader) peekDerived(id msg.ID) []byte {
	switch id {
	case msg.ContentType:
		return h.ContentType()
	case msg.Server:
		return h.Server()
	case msg.ContentLength:
		if i := h.s.Find(id); i >= 0 {
			return h.s.Value(i)
		}
		if h.s.ContentLength > 0 || h.s.ContentLength == 0 && h.lengthSet {
			return bytesconv.AppendInt(h.digits[:0], h.s.ContentLength)
		}
		return nil
	case msg.TransferEncoding:
		if h.s.ContentLength == msg.LenChunked {
			return strChunked
		}
		return nil
	case msg.Connection:
		return h.connection()
	case msg.SetCookie:
		return h.cookieText()
	}
	return declaredTrailers(&h.s.Fields, h.asIs)
}

// PeekAll returns the values of all fields called key, in order. The slice of
// slices is used again by the next call of PeekAll or PeekKeys.
func (h *ResponseHeader) PeekAll(key string) [][]byte {
	k := bytesconv.S2B(key)
	id := msg.Lookup(k)
	h.text.values = h.text.values[:0]
	if responseDerived&(1<<id) != 0 && uint64(1)<<id&(1<<msg.SetCookie|1<<msg.Server) == 0 {
		if v := h.peekDerived(id); len(v) > 0 {
			h.text.values = append(h.text.values, v)
		}
		return h.text.values
	}
	if held, own := h.held(id); h.look&own != 0 {
		h.text.values = append(h.text.values, *held)
	}
	h.text.values = appendValues(h.text.values, &h.s.Fields, id, k, responseOne&(1<<id) != 0)
	h.text.values = h.late.appendValues(h.text.values, id, k)
	return h.text.values
}

// Set gives the field called key the value: it takes the place of the first
// field of that name, and the others go; or it is appended. (In fasthttp the
// others stay.)
//
// Some fields are particular:
//   - Set-Cookie adds a field, see also SetCookie.
//   - Content-Length sets the length that SetContentLength sets, and is ignored
//     if it is no number; writing a response overrules it by the body.
//   - Transfer-Encoding is ignored: the body decides.
//   - Trailer declares trailer fields, see SetTrailer.
//   - Content-Type, Content-Encoding, Server, Date and Connection are deleted by
//     an empty value.
//
// A field that was declared with SetTrailer is sent behind a chunked body.
// fasthttp ignores Date, here it takes the place of the current one.
func (h *ResponseHeader) Set(key, value string) {
	h.set(bytesconv.S2B(key), bytesconv.S2B(value))
}

// SetBytesK is [ResponseHeader.Set] for a []byte key.
func (h *ResponseHeader) SetBytesK(key []byte, value string) { h.set(key, bytesconv.S2B(value)) }

// SetBytesV is [ResponseHeader.Set] for a []byte value.
func (h *ResponseHeader) SetBytesV(key string, value []byte) { h.set(bytesconv.S2B(key), value) }

// SetBytesKV is [ResponseHeader.Set] for a []byte key and value.
func (h *ResponseHeader) SetBytesKV(key, value []byte) { h.set(key, value) }

// SetCanonical is [ResponseHeader.SetBytesKV], but the name is written as key
// spells it.
func (h *ResponseHeader) SetCanonical(key, value []byte) {
	id := msg.Lookup(key)
	if responseSpecial&(1<<id) != 0 {
		h.setSpecial(id, key, value)
		return
	}
	h.section(key).Put(id, key, value, true)
}

func (h *ResponseHeader) set(key, value []byte) {
	if h.s.Seen()&trailerBit == 0 && !h.asIs && h.s.PutAgain(key, value, responseSpecial) {
		return
	}
	id := msg.Lookup(key)
	if responseSpecial&(1<<id) != 0 {
		h.setSpecial(id, key, value)
		return
	}
	f := &h.s.Fields
	if f.Seen()&trailerBit != 0 {
		f = h.section(key)
	}
	f.Put(id, key, value, h.asIs)
}

func (h *ResponseHeader) setSpecial(id msg.ID, key, value []byte) {
	switch id {
	case msg.ContentLength:
		if n, err := h1.ParseContentLength(value); err == nil {
			h.setLength(n)
		}
	case msg.TransferEncoding:
	case msg.Connection:
		h.setConnection(key, value)
	case msg.SetCookie:
		h.s.PutMore(id, key, value, h.asIs)
	case msg.Trailer:
		_ = h.SetTrailerBytes(value)
	default:
		h.setOne(id, key, value)
	}
}

// setOne sets a field of which there is one, and none if it is empty.
func (h *ResponseHeader) setOne(id msg.ID, key, value []byte) {
	if held, own := h.held(id); held != nil && h.hold(held, own, id, value) {
		return
	}
	if f := h.section(key); len(value) > 0 || f != &h.s.Fields {
		f.Put(id, key, value, h.asIs)
		return
	}
	h.s.Del(id, nil)
	if id == msg.Server {
		h.defaultServer = ""
	}
}

// Add appends a field, whether there are fields of that name or not. Of
// Content-Type, Content-Encoding, Content-Length, Server, Date and Connection
// there is only one, so Add is Set for them; Transfer-Encoding is ignored; Trailer
// adds to the declared trailer fields.
func (h *ResponseHeader) Add(key, value string) {
	h.add(bytesconv.S2B(key), bytesconv.S2B(value))
}

// AddBytesK is [ResponseHeader.Add] for a []byte key.
func (h *ResponseHeader) AddBytesK(key []byte, value string) { h.add(key, bytesconv.S2B(value)) }

// AddBytesV is [ResponseHeader.Add] for a []byte value.
func (h *ResponseHeader) AddBytesV(key string, value []byte) { h.add(bytesconv.S2B(key), value) }

// AddBytesKV is [ResponseHeader.Add] for a []byte key and value.
func (h *ResponseHeader) AddBytesKV(key, value []byte) { h.add(key, value) }

func (h *ResponseHeader) add(key, value []byte) {
	id := msg.Lookup(key)
	switch {
	case responseSpecial&(1<<id) == 0:
		h.section(key).PutMore(id, key, value, h.asIs)
	case id == msg.Trailer:
		_ = h.AddTrailerBytes(value)
	default:
		if f := h.section(key); f != &h.s.Fields {
			f.PutMore(id, key, value, h.asIs)
			return
		}
		h.setSpecial(id, key, value)
	}
}

// Del deletes all fields called key. Deleting Content-Length makes the length
// 0, deleting Connection undoes SetConnectionClose.
func (h *ResponseHeader) Del(key string) { h.del(bytesconv.S2B(key)) }

// DelBytes is [ResponseHeader.Del] for a []byte key.
func (h *ResponseHeader) DelBytes(key []byte) { h.del(key) }

func (h *ResponseHeader) del(key []byte) {
	id := msg.Lookup(key)
	if id == msg.Trailer {
		h.declare(nil)
		return
	}
	h.s.Del(id, key)
	h.late.del(id, key)
	switch id {
	case msg.ContentLength:
		if h.s.ContentLength >= 0 {
			h.s.ContentLength, h.lengthSet = 0, false
		}
	case msg.TransferEncoding:
		if h.s.ContentLength == msg.LenChunked {
			h.s.ContentLength, h.lengthSet = 0, false
		}
	case msg.Connection:
		h.dropConnection()
	case msg.Server:
		h.look &^= ownServer
		h.defaultServer = ""
	case msg.ContentType:
		h.look &^= ownType
	}
}

// DisableNormalizing makes the header write the names of fields as they are
// given to setters or were received, instead of "Foo-Bar" for "foo-BAR", and
// returns whether it was disabled before. Names are compared without regard to
// case all the same.
func (h *ResponseHeader) DisableNormalizing() bool { return swap(&h.asIs, true) }

// EnableNormalizing undoes DisableNormalizing and returns whether normalising
// was disabled before.
func (h *ResponseHeader) EnableNormalizing() bool { return swap(&h.asIs, false) }

// SetNoDefaultContentType says whether a response with a body and without a
// Content-Type is written without one (true), or as text/plain in UTF-8 (false,
// the default).
func (h *ResponseHeader) SetNoDefaultContentType(noDefaultContentType bool) {
	h.look &^= noType
	if noDefaultContentType {
		h.look |= noType
	}
}
