package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// RequestHeader is the head of a request: the request line and the header fields
// (RFC 9112 section 3, RFC 9110 section 5). A field is one name with its value,
// such as Host. The zero value is a GET request for "/" without fields. A
// RequestHeader must not be copied by assignment (use CopyTo), and must not be used
// by several goroutines at once.
//
// Names of fields are compared case-insensitively (RFC 9110 section 5.1)
// and written with a capital letter after each hyphen ("foo-BAR" becomes
// "Foo-Bar") unless DisableNormalizing was called.
//
// Bytes that methods return are borrowed; see "Borrowed bytes" in the comment of the
// package. Copy them to keep them, and don't write to them. Arguments are copied.
//
// No setter can make a head with a line that the caller didn't ask for: a field
// whose name isn't a token (RFC 9110 section 5.6.2) is left out, and control
// characters in values become spaces.
type RequestHeader struct {
	noCopy noCopy

	// s is the head. Every setter keeps what it says about the body, the connection
	// and the expectation up to date.
	s head.Request

	hideContents bool // errors of Read don't quote the head
	formsAsMIME  bool // a boundary is one that package mime reads, see door.ReadFormsAsMIME

	digits [20]byte // what Peek("Content-Length") returns
	get    [3]byte  // what Method returns for a request without one
	text   headerText
}

// headerText holds memory for results of methods that aren't stored in the fields
// themselves.
type headerText struct {
	head, trailer, cookie, connection []byte
	values, trailers                  [][]byte
}

// requestSpecial are the fields that are more than a name and a value.
const requestSpecial uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection |
	1<<msg.Cookie | 1<<msg.Trailer | 1<<msg.Expect | 1<<msg.Host | 1<<msg.ContentType | 1<<msg.UserAgent

// requestDerived are the fields whose value may be stored outside of a record.
const requestDerived uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection |
	1<<msg.Cookie | 1<<msg.Trailer

// Reset sets the header, including its settings, to the zero value. It keeps its
// memory for the next use.
func (h *RequestHeader) Reset() {
	used(h.s.Loan)
	h.reset()
}

func (h *RequestHeader) reset() {
	h.s.Reset()
	h.s.RequestSettings = head.RequestSettings{}
	h.hideContents, h.formsAsMIME = false, false
}

// resetFields is Reset without the settings.
func (h *RequestHeader) resetFields() { h.s.Reset() }

// CopyTo makes dst a copy of the header, including its settings and trailers, that shares
// no memory with it.
func (h *RequestHeader) CopyTo(dst *RequestHeader) {
	if dst == h {
		return
	}
	used(h.s.Loan)
	used(dst.s.Loan)
	h.s.CopyTo(&dst.s)
	dst.hideContents, dst.formsAsMIME = h.hideContents, h.formsAsMIME
}

// Peek returns the value of the first field called key, or nil if there is none.
// Finding a well-known field takes the same time however many fields there are. The
// bytes are borrowed: they are valid until h changes or the handler returns.
//
// For Content-Length, Transfer-Encoding and Connection, Peek returns the value that
// is written when the request is sent, whichever setter it comes from. For Cookie
// it returns all cookies.
//
// After DisableNormalizing, a name that isn't a registered one is found only in the
// exact spelling that the field has.
func (h *RequestHeader) Peek(key string) []byte { return h.peek(bytesconv.S2B(key)) }

// PeekBytes is [RequestHeader.Peek] for a []byte key. The bytes are borrowed: they
// are valid until h changes or the handler returns.
func (h *RequestHeader) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical is [RequestHeader.PeekBytes] for a key in canonical spelling. In
// fasthttp it compares case-sensitively and is faster, because it needn't normalise
// the key. Here Peek doesn't normalise either. The bytes are borrowed: they are valid
// until h changes or the handler returns.
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

// place returns where to set the field called name (the head or the declared
// trailers), and deletes fields of that name in the other place.
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
	case msg.TransferEncoding:
		if h.s.ContentLength == msg.LenChunked {
			return strChunked
		}
	case msg.Connection:
		if v := h.connection(); v != nil {
			return v
		}
	case msg.Cookie:
		if v := h.s.CookieText(&h.text.cookie); v != nil {
			return v
		}
	default: // Trailer
		if l := h.s.Trailers.Declared(&h.s.Fields, h.s.Spelling); l != nil && l.Len() > 0 {
			return l.Text()
		}
	}
	used(h.s.Loan)
	return nil
}

// PeekAll returns the values of all fields called key, in order. The outer slice is
// overwritten by the next call of PeekAll or PeekKeys. The bytes are borrowed: they
// are valid until h changes or the handler returns.
func (h *RequestHeader) PeekAll(key string) [][]byte {
	k := bytesconv.S2B(key)
	id := msg.Lookup(k)
	h.text.values = h.text.values[:0]
	used(h.s.Loan)
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

// Set sets the field called key to the value. It replaces the first field of that
// name and deletes the others. If there is none, it appends the field. (fasthttp
// keeps the others.)
//
// Some fields are special:
//   - Cookie sets the cookies that the value holds, see SetCookie. Other cookies
//     stay.
//   - Content-Length works as SetContentLength does, and is ignored if it isn't a
//     number. When a request is written, its body decides.
//   - Transfer-Encoding is ignored, because the body decides.
//   - Trailer declares trailer fields, see SetTrailer.
//   - Host, Content-Type, User-Agent and Connection are deleted if the value is
//     empty.
//
// A field that was declared with SetTrailer is sent after a chunked body. Set also
// deletes received fields of that name, including those of the trailer section.
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
	used(h.s.Loan)
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

// setOne sets a field that may exist only once, or deletes it if the value is
// empty.
func (h *RequestHeader) setOne(id msg.ID, key, value []byte) {
	if len(value) > 0 && h.s.Spelling == msg.Normalized && h.s.Seen()&head.TrailerBit == 0 && h.s.PutAgain(key, value, 0) {
		return
	}
	if f := h.place(id, key); len(value) > 0 || h.s.NoSpecial || f != &h.s.Fields {
		f.Put(id, key, value, h.s.Spelling)
		return
	}
	used(h.s.Loan)
	h.s.Del(id, nil)
}

// setPlain sets a special field after DisableSpecialHeader: it keeps its place and
// its spelling. What the header knows about the message is still updated.
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

// Add appends a field, whether or not there are fields of that name. There can be
// only one Host, Content-Type, User-Agent, Content-Length and Connection, so for
// them Add is Set. Transfer-Encoding is ignored. Cookie adds to the cookies, and
// Trailer to the declared trailer fields.
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

// Del deletes all fields called key. Deleting Content-Length sets the length to 0.
// Deleting Connection undoes SetConnectionClose. Deleting Cookie deletes all
// cookies.
func (h *RequestHeader) Del(key string) { h.del(bytesconv.S2B(key)) }

// DelBytes is [RequestHeader.Del] for a []byte key.
func (h *RequestHeader) DelBytes(key []byte) { h.del(key) }

func (h *RequestHeader) del(key []byte) {
	used(h.s.Loan)
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

// DisableNormalizing makes the header write field names in the spelling in which
// they were set or received, instead of "Foo-Bar" for "foo-BAR". It returns whether
// normalizing was disabled before. Names are compared case-insensitively even then.
func (h *RequestHeader) DisableNormalizing() bool {
	used(h.s.Loan)
	return swap(&h.s.Spelling, msg.AsGiven) == msg.AsGiven
}

// EnableNormalizing undoes DisableNormalizing and returns whether normalizing was
// disabled before.
func (h *RequestHeader) EnableNormalizing() bool {
	used(h.s.Loan)
	return swap(&h.s.Spelling, msg.Normalized) == msg.AsGiven
}

// DisableSpecialHeader makes the header write its fields in the order in which they
// were set, and adds no others: no User-Agent, Host or Content-Type that was not
// set. It returns whether it was disabled before. A Content-Length or
// Transfer-Encoding that the body needs is always written: no setting makes a request
// whose end is unclear.
//
// It deletes a User-Agent that was set before. From then on SetUserAgent has no
// effect; use Set.
func (h *RequestHeader) DisableSpecialHeader() bool {
	used(h.s.Loan)
	if len(h.s.Part(msg.Raw)) == 0 {
		h.s.Del(msg.UserAgent, nil)
	}
	return swap(&h.s.NoSpecial, true)
}

// EnableSpecialHeader undoes DisableSpecialHeader and returns whether special
// fields were disabled before.
func (h *RequestHeader) EnableSpecialHeader() bool {
	used(h.s.Loan)
	return swap(&h.s.NoSpecial, false)
}

// SetNoDefaultContentType sets what is written for a request with a body and
// without a Content-Type: no Content-Type (true), or application/octet-stream
// (false, the default).
func (h *RequestHeader) SetNoDefaultContentType(noDefaultContentType bool) {
	used(h.s.Loan)
	h.s.NoDefaultType = noDefaultContentType
}

func swap[T any](p *T, v T) (before T) {
	before, *p = *p, v
	return before
}
