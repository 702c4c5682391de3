package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// RequestHeader is the head of a request: the request line and the fields
// (RFC 9112 section 3, RFC 9110 section 5). The zero value is a GET request for
// "/" without fields. A RequestHeader must not be copied by assignment, see
// CopyTo, nor be used by several goroutines at once.
//
// Names of fields are compared case-insensitively (RFC 9110 section 5.1)
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
	s head.Request

	hideContents bool // errors of Read don't quote what was read

	digits [20]byte // what Peek("Content-Length") returns
	get    [3]byte  // what Method returns for a request without one
	text   headerText
}

// headerText holds what methods return that isn't in the fields as such.
type headerText struct {
	head, trailer, cookie, connection []byte
	values, trailers                  [][]byte
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
	h.s.Reset()
	h.s.Spelling, h.s.NoSpecial, h.s.NoDefaultType = msg.Normalized, false, false
	h.hideContents = false
}

// resetFields is Reset without the settings.
func (h *RequestHeader) resetFields() { h.s.Reset() }

// CopyTo makes dst a copy of the header, settings included.
func (h *RequestHeader) CopyTo(dst *RequestHeader) {
	if dst == h {
		return
	}
	h.s.CopyTo(&dst.s)
	dst.hideContents = h.hideContents
}

// Peek returns the value of the first field called key, or nil if there is
// none. Finding a common field takes the same time however many there are.
//
// For Content-Length, Transfer-Encoding and Connection that is what the header says
// when it is written, whichever setter it comes from; for Cookie all cookies.
//
// After DisableNormalizing, names that the registry of fields doesn't have are
// found only as they are spelled.
func (h *RequestHeader) Peek(key string) []byte { return h.peek(bytesconv.S2B(key)) }

// PeekBytes is [RequestHeader.Peek] for a []byte key.
func (h *RequestHeader) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical is [RequestHeader.PeekBytes] for a key in canonical spelling.
// fasthttp has it to save the normalising, which Peek does not do here, and
// compares case-sensitively.
func (h *RequestHeader) PeekCanonical(key []byte) []byte { return h.peek(key) }

func (h *RequestHeader) peek(key []byte) []byte {
	id := msg.Lookup(key)
	if requestDerived&(1<<id) == 0 {
		if h.s.Spelling == msg.AsGiven && id == msg.Unknown {
			if v := h.s.Fields.PeekExact(key); v != nil {
				return v
			}
			return h.s.Trailers.PeekExact(key)
		}
		return h.peekPlain(id, key)
	}
	return h.peekDerived(id)
}

// peekPlain looks in the head and then in the trailer section.
func (h *RequestHeader) peekPlain(id msg.ID, key []byte) []byte {
	if v := h.s.PeekID(id, key); v != nil {
		return v
	}
	return h.s.Trailers.Peek(id, key)
}

// place returns where the field called name is set, and deletes those of that name
// elsewhere.
func (h *RequestHeader) place(id msg.ID, name []byte) *msg.Fields {
	if h.s.Seen()&head.TrailerBit == 0 {
		return &h.s.Fields
	}
	return h.s.Trailers.Place(&h.s.Fields, id, name)
}

func (h *RequestHeader) peekDerived(id msg.ID) []byte {
	switch id {
	case msg.ContentLength:
		if i := h.s.Find(id); i >= 0 {
			return h.s.Value(i)
		}
		if h.s.ContentLength > 0 || h.s.ContentLength == 0 && h.s.LengthSet {
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
		return h.s.CookieText(&h.text.cookie)
	}
	if l := h.s.Trailers.Declared(&h.s.Fields, h.s.Spelling); l != nil && l.Len() > 0 {
		return l.Text()
	}
	return nil
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
	if requestSpecial&(1<<id) != 0 {
		h.text.values = h.s.AppendFilled(h.text.values, id, k)
	} else {
		h.text.values = h.s.AppendValues(h.text.values, id, k)
	}
	h.text.values = h.s.Trailers.AppendValues(h.text.values, id, k)
	return h.text.values
}

// Set gives the field called key the value: it takes the place of the first
// field of that name, and the others go; or it is appended. (In fasthttp the
// others stay.)
//
// Some fields are particular:
//   - Cookie sets these cookies, see SetCookie: others stay.
//   - Content-Length sets the length that SetContentLength sets, and is ignored
//     if it is no number; writing a request overrules it by the body.
//   - Transfer-Encoding is ignored: the body decides.
//   - Trailer declares trailer fields, see SetTrailer.
//   - Host, Content-Type, User-Agent and Connection are deleted by an empty
//     value.
//
// A field that was declared with SetTrailer is sent after a chunked body. What was
// received under the name goes too, also from the trailer section.
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
	h.place(id, key).Put(id, key, value, msg.AsGiven)
}

func (h *RequestHeader) set(key, value []byte) {
	id := msg.Lookup(key)
	if requestSpecial&(1<<id) != 0 {
		h.setSpecial(id, key, value)
		return
	}
	f := &h.s.Fields
	if f.Seen()&head.TrailerBit != 0 {
		f = h.s.Trailers.Place(f, id, key)
	}
	f.Put(id, key, value, h.s.Spelling)
}

func (h *RequestHeader) setSpecial(id msg.ID, key, value []byte) {
	if h.s.NoSpecial {
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
		h.s.SetCookieField(key, value)
	case msg.Trailer:
		_ = h.SetTrailerBytes(value)
	case msg.Expect:
		h.s.Put(id, key, value, h.s.Spelling)
		h.s.Expect = head.Expectation(&h.s.Fields)
	default:
		h.setOne(id, key, value)
	}
}

// setOne sets a field of which there is one, and none if it is empty.
func (h *RequestHeader) setOne(id msg.ID, key, value []byte) {
	if len(value) > 0 && h.s.Spelling == msg.Normalized && h.s.Seen()&head.TrailerBit == 0 && h.s.PutAgain(key, value, 0) {
		return
	}
	if f := h.place(id, key); len(value) > 0 || h.s.NoSpecial || f != &h.s.Fields {
		f.Put(id, key, value, h.s.Spelling)
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
	case msg.Cookie:
		h.s.SetCookieField(key, value)
		return
	case msg.Trailer:
		_ = h.SetTrailerBytes(value)
		return
	}
	h.place(id, key).Put(id, key, value, h.s.Spelling)
	switch id {
	case msg.Connection:
		h.s.Conn = putConnection(&h.s.Fields)
	case msg.Expect:
		h.s.Expect = head.Expectation(&h.s.Fields)
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
		h.s.Trailers.PlaceMore(&h.s.Fields, key).PutMore(id, key, value, h.s.Spelling)
	case id == msg.Trailer:
		_ = h.AddTrailerBytes(value)
	case id == msg.Cookie:
		h.s.AddCookieField(key, value)
	case id == msg.Expect:
		h.s.PutMore(id, key, value, h.s.Spelling)
		h.s.Expect = head.Expectation(&h.s.Fields)
	default:
		if f := h.s.Trailers.PlaceMore(&h.s.Fields, key); f != &h.s.Fields {
			f.PutMore(id, key, value, h.s.Spelling)
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
		_ = h.s.Trailers.Declare(&h.s.Fields, nil, h.s.Spelling)
		return
	}
	h.s.Del(id, key)
	h.s.Trailers.Del(id, key)
	switch id {
	case msg.ContentLength:
		if h.s.ContentLength >= 0 {
			h.s.ContentLength, h.s.LengthSet = 0, false
		}
	case msg.TransferEncoding:
		if h.s.ContentLength == msg.LenChunked {
			h.s.ContentLength, h.s.LengthSet = 0, false
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
// returns whether it was disabled before. Names are compared case-insensitively even
// then.
func (h *RequestHeader) DisableNormalizing() bool {
	return swap(&h.s.Spelling, msg.AsGiven) == msg.AsGiven
}

// EnableNormalizing undoes DisableNormalizing and returns whether normalising
// was disabled before.
func (h *RequestHeader) EnableNormalizing() bool {
	return swap(&h.s.Spelling, msg.Normalized) == msg.AsGiven
}

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
	return swap(&h.s.NoSpecial, true)
}

// EnableSpecialHeader undoes DisableSpecialHeader and returns whether special
// fields were disabled before.
func (h *RequestHeader) EnableSpecialHeader() bool { return swap(&h.s.NoSpecial, false) }

// SetNoDefaultContentType says whether a request with a body and without a
// Content-Type is written without one (true), or as application/octet-stream
// (false, the default).
func (h *RequestHeader) SetNoDefaultContentType(noDefaultContentType bool) {
	h.s.NoDefaultType = noDefaultContentType
}

func swap[T any](p *T, v T) (before T) {
	before, *p = *p, v
	return before
}
