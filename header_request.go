package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/kv"
	"github.com/galehttp/gale/internal/msg"
)

// RequestHeader is the head of a request: the request line and the fields
// (RFC 9112 section 3, RFC 9110 section 5). The zero value is a GET request for
// "/" without fields. A RequestHeader must not be copied by assignment, see
// CopyTo, nor be used by several goroutines at once.
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
type RequestHeader struct {
	noCopy noCopy

	// s is the head. What it says about the body, the connection and the
	// expectation is kept true by every setter.
	s msg.RequestHead

	// cookies are the pairs of the Cookie fields. cookieState says whether
	// they are there, and whether they or the fields are the truth.
	cookies     kv.List
	cookieState cookieState

	late lateFields // the trailer section

	asIs                 bool // DisableNormalizing
	noSpecial            bool // DisableSpecialHeader
	noDefaultContentType bool
	lengthSet            bool // a length of 0 was set, rather than being the zero value
	hideContents         bool // errors of Read don't quote what was read

	digits [20]byte // what Peek("Content-Length") returns
	get    [3]byte  // what Method returns for a request without one
	text   headerText
}

// headerText holds what methods return that isn't in the fields as such.
type headerText struct {
	head, trailer, cookie, list []byte
	values, trailers            [][]byte
}

// requestSpecial are the fields that are more than a name and a value.
const requestSpecial uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection |
	1<<msg.Cookie | 1<<msg.Trailer | 1<<msg.Expect | 1<<msg.Host | 1<<msg.ContentType | 1<<msg.UserAgent

// requestDerived are the fields whose value may be elsewhere than in a record.
const requestDerived uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection |
	1<<msg.Cookie | 1<<msg.Trailer

// Reset makes the header the zero value again, settings included, and keeps its
// memory for the next use.
func (h *RequestHeader) Reset() {
	h.resetFields()
	h.asIs, h.noSpecial, h.noDefaultContentType, h.hideContents = false, false, false, false
}

// resetFields is Reset without the settings.
func (h *RequestHeader) resetFields() {
	h.s.Reset()
	h.late.reset()
	h.lengthSet = false
	if h.cookieState != cookiesUnread {
		h.cookies.Reset()
		h.cookieState = cookiesUnread
	}
}

// CopyTo makes dst a copy of the header, settings included.
func (h *RequestHeader) CopyTo(dst *RequestHeader) {
	if dst == h {
		return
	}
	h.s.CopyTo(&dst.s)
	h.late.copyTo(&dst.late)
	h.cookies.CopyTo(&dst.cookies)
	dst.cookieState = h.cookieState
	dst.asIs, dst.noSpecial = h.asIs, h.noSpecial
	dst.noDefaultContentType, dst.lengthSet, dst.hideContents = h.noDefaultContentType, h.lengthSet, h.hideContents
}

// Peek returns the value of the first field called key, or nil if there is
// none. Finding a common field takes the same time however many there are.
//
// For Content-Length and Connection that is what the header says when it is
// written, whichever setter it comes from; for Cookie all cookies. For
// Transfer-Encoding it is nil, as with fasthttp: ContentLength is -1 where a body
// is chunked, and All has the field.
//
// After DisableNormalizing, names that the registry of fields doesn't have are
// found only as they are spelled.
func (h *RequestHeader) Peek(key string) []byte { return h.peek(bytesconv.S2B(key)) }

// PeekBytes is [RequestHeader.Peek] for a []byte key.
func (h *RequestHeader) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical is [RequestHeader.PeekBytes] for a key in canonical spelling.
// fasthttp has it to save the normalising, which Peek does not do here, and
// compares with regard to case.
func (h *RequestHeader) PeekCanonical(key []byte) []byte { return h.peek(key) }

func (h *RequestHeader) peek(key []byte) []byte {
	id := msg.Lookup(key)
	if requestDerived&(1<<id) == 0 {
		if h.asIs && id == msg.Unknown {
			return peekExact(&h.s.Fields, h.late.f, key)
		}
		return h.peekPlain(id, key)
	}
	if id == msg.TransferEncoding {
		return nil
	}
	return h.peekDerived(id)
}

// peekPlain looks in the head and then in the trailer section.
func (h *RequestHeader) peekPlain(id msg.ID, key []byte) []byte {
	if v := peekField(&h.s.Fields, id, key); v != nil {
		return v
	}
	return h.late.peek(id, key)
}

// section returns where a field is set.
func (h *RequestHeader) section(name []byte) *msg.Fields {
	if h.s.Seen()&trailerBit == 0 {
		return &h.s.Fields
	}
	return h.late.section(&h.s.Fields, name, h.asIs)
}

func (h *RequestHeader) peekDerived(id msg.ID) []byte {
	switch id {
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
	case msg.Cookie:
		return h.cookieText()
	}
	return declaredTrailers(&h.s.Fields, h.asIs)
}

// PeekAll returns the values of all fields called key, in order. The slice of
// slices is used again by the next call of PeekAll or PeekKeys.
func (h *RequestHeader) PeekAll(key string) [][]byte {
	k := bytesconv.S2B(key)
	id := msg.Lookup(k)
	h.text.values = h.text.values[:0]
	if requestDerived&(1<<id) != 0 {
		if v := h.peekDerived(id); len(v) > 0 {
			h.text.values = append(h.text.values, v)
		}
		return h.text.values
	}
	h.text.values = appendValues(h.text.values, &h.s.Fields, id, k, requestSpecial&(1<<id) != 0)
	h.text.values = h.late.appendValues(h.text.values, id, k)
	return h.text.values
}

// Set gives the field called key the value: it takes the place of the first
// field of that name, and the others go; or it is appended. (In fasthttp the
// others stay.)
//
// Some fields are particular:
//   - Cookie adds to the cookies, see also SetCookie.
//   - Content-Length sets the length that SetContentLength sets, and is ignored
//     if it is no number; writing a request overrules it by the body.
//   - Transfer-Encoding is ignored: the body decides.
//   - Trailer declares trailer fields, see SetTrailer.
//   - Host, Content-Type, User-Agent and Connection are deleted by an empty
//     value.
//
// A field that was declared with SetTrailer is sent behind a chunked body.
func (h *RequestHeader) Set(key, value string) {
	h.set(bytesconv.S2B(key), bytesconv.S2B(value))
}

// SetBytesK is [RequestHeader.Set] for a []byte key.
func (h *RequestHeader) SetBytesK(key []byte, value string) { h.set(key, bytesconv.S2B(value)) }

// SetBytesV is [RequestHeader.Set] for a []byte value.
func (h *RequestHeader) SetBytesV(key string, value []byte) { h.set(bytesconv.S2B(key), value) }

// SetBytesKV is [RequestHeader.Set] for a []byte key and value.
func (h *RequestHeader) SetBytesKV(key, value []byte) { h.set(key, value) }

// SetCanonical is [RequestHeader.SetBytesKV], but the name is written as key
// spells it.
func (h *RequestHeader) SetCanonical(key, value []byte) {
	id := msg.Lookup(key)
	if requestSpecial&(1<<id) != 0 {
		h.setSpecial(id, key, value)
		return
	}
	h.section(key).Put(id, key, value, true)
}

func (h *RequestHeader) set(key, value []byte) {
	id := msg.Lookup(key)
	if requestSpecial&(1<<id) != 0 {
		h.setSpecial(id, key, value)
		return
	}
	f := &h.s.Fields
	if f.Seen()&trailerBit != 0 {
		f = h.section(key)
	}
	f.Put(id, key, value, h.asIs)
}

func (h *RequestHeader) setSpecial(id msg.ID, key, value []byte) {
	if h.noSpecial {
		h.setPlain(id, key, value)
		return
	}
	switch id {
	case msg.ContentLength:
		if n, err := h1.ParseContentLength(value); err == nil {
			h.setLength(n)
		}
	case msg.TransferEncoding:
	case msg.Connection:
		h.setConnection(key, value)
	case msg.Cookie:
		h.addCookieField(key, value)
	case msg.Trailer:
		_ = h.SetTrailerBytes(value)
	case msg.Expect:
		h.s.Put(id, key, value, h.asIs)
		h.s.Expect = expectation(&h.s.Fields)
	default:
		h.setOne(id, key, value)
	}
}

// setOne sets a field of which there is one, and none if it is empty.
func (h *RequestHeader) setOne(id msg.ID, key, value []byte) {
	if len(value) > 0 && !h.asIs && h.s.Seen()&trailerBit == 0 && h.s.PutAgain(key, value, 0) {
		return
	}
	if f := h.section(key); len(value) > 0 || h.noSpecial || f != &h.s.Fields {
		f.Put(id, key, value, h.asIs)
		return
	}
	h.s.Del(id, nil)
}

// setPlain sets a special field when special treatment is disabled: it stands
// where it was set, spelled as it was. What the header knows about the message
// stays true nevertheless.
func (h *RequestHeader) setPlain(id msg.ID, key, value []byte) {
	switch id {
	case msg.ContentLength:
		n, err := h1.ParseContentLength(value)
		if err != nil {
			return
		}
		h.s.Del(msg.TransferEncoding, nil)
		h.s.ContentLength = n
	case msg.TransferEncoding:
		if !bytesconv.EqualFoldString(value, "chunked") {
			return
		}
		h.s.Del(msg.ContentLength, nil)
		h.s.ContentLength = msg.LenChunked
	case msg.Connection:
		h.s.Conn = h1.ParseConnection(value)
	case msg.Cookie:
		h.addCookieField(key, value)
		return
	case msg.Trailer:
		_ = h.SetTrailerBytes(value)
		return
	}
	h.section(key).Put(id, key, value, h.asIs)
	if id == msg.Expect {
		h.s.Expect = expectation(&h.s.Fields)
	}
}

// Add appends a field, whether there are fields of that name or not. Of Host,
// Content-Type, User-Agent, Content-Length and Connection there is only one,
// so Add is Set for them; Transfer-Encoding is ignored; Cookie adds to
// the cookies and Trailer to the declared trailer fields.
func (h *RequestHeader) Add(key, value string) {
	h.add(bytesconv.S2B(key), bytesconv.S2B(value))
}

// AddBytesK is [RequestHeader.Add] for a []byte key.
func (h *RequestHeader) AddBytesK(key []byte, value string) { h.add(key, bytesconv.S2B(value)) }

// AddBytesV is [RequestHeader.Add] for a []byte value.
func (h *RequestHeader) AddBytesV(key string, value []byte) { h.add(bytesconv.S2B(key), value) }

// AddBytesKV is [RequestHeader.Add] for a []byte key and value.
func (h *RequestHeader) AddBytesKV(key, value []byte) { h.add(key, value) }

func (h *RequestHeader) add(key, value []byte) {
	id := msg.Lookup(key)
	switch {
	case requestSpecial&(1<<id) == 0:
		h.section(key).PutMore(id, key, value, h.asIs)
	case id == msg.Trailer:
		_ = h.AddTrailerBytes(value)
	case id == msg.Expect:
		h.s.PutMore(id, key, value, h.asIs)
		h.s.Expect = expectation(&h.s.Fields)
	default:
		if f := h.section(key); f != &h.s.Fields {
			f.PutMore(id, key, value, h.asIs)
			return
		}
		h.setSpecial(id, key, value)
	}
}

// Del deletes all fields called key. Deleting Content-Length makes the length
// 0, deleting Connection undoes SetConnectionClose, deleting Cookie deletes all
// cookies.
func (h *RequestHeader) Del(key string) { h.del(bytesconv.S2B(key)) }

// DelBytes is [RequestHeader.Del] for a []byte key.
func (h *RequestHeader) DelBytes(key []byte) { h.del(key) }

func (h *RequestHeader) del(key []byte) {
	id := msg.Lookup(key)
	if id == msg.Trailer {
		h.late.declare(&h.s.Fields, nil, h.asIs)
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
	case msg.Cookie:
		h.DelAllCookies()
	case msg.Expect:
		h.s.Expect = msg.ExpectNone
	}
}

// DisableNormalizing makes the header write the names of fields as they are
// given to setters or were received, instead of "Foo-Bar" for "foo-BAR", and
// returns whether it was disabled before. Names are compared without regard to case
// all the same.
func (h *RequestHeader) DisableNormalizing() bool { return swap(&h.asIs, true) }

// EnableNormalizing undoes DisableNormalizing and returns whether normalising
// was disabled before.
func (h *RequestHeader) EnableNormalizing() bool { return swap(&h.asIs, false) }

// DisableSpecialHeader makes the header write its fields in the order in which
// they were set, and no others: no User-Agent, Host or Content-Type that was not
// set. It returns whether that was so before. The length of the body is written
// nevertheless: no setting makes a request whose end is unclear.
//
// A User-Agent that was set before is gone, and SetUserAgent does nothing from then
// on: Set does.
func (h *RequestHeader) DisableSpecialHeader() bool {
	if len(h.s.Part(msg.Raw)) == 0 {
		h.s.Del(msg.UserAgent, nil)
	}
	return swap(&h.noSpecial, true)
}

// EnableSpecialHeader undoes DisableSpecialHeader and returns whether special
// fields were disabled before.
func (h *RequestHeader) EnableSpecialHeader() bool { return swap(&h.noSpecial, false) }

// SetNoDefaultContentType says whether a request with a body and without a
// Content-Type is written without one (true), or as application/octet-stream
// (false, the default).
func (h *RequestHeader) SetNoDefaultContentType(noDefaultContentType bool) {
	h.noDefaultContentType = noDefaultContentType
}

func swap(b *bool, v bool) (before bool) {
	before, *b = *b, v
	return before
}
