package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// ResponseHeader is the head of a response: the status line and the header fields
// (RFC 9112 section 4, RFC 9110 section 5). A field is one name with its value,
// such as Content-Type. The zero value has status 200 and no header fields. A
// ResponseHeader must not be copied by assignment (use CopyTo), and must not be used by several
// goroutines at once.
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
type ResponseHeader struct {
	noCopy noCopy

	// s is the head. Every setter keeps what it says about the body and the
	// connection up to date.
	s head.Response

	opening h1.Opening // of the last response

	hideContents bool // errors of Read don't quote the head

	defaultServer string // what the server writes if there is no Server field

	digits [20]byte // what Peek("Content-Length") returns
	text   headerText
}

// responseSpecial are the fields that are more than a name and a value.
const responseSpecial uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection |
	1<<msg.SetCookie | 1<<msg.Trailer | 1<<msg.ContentType | 1<<msg.ContentEncoding | 1<<msg.Server | 1<<msg.Date

// responseOne are those of them that may exist only once.
const responseOne uint64 = 1<<msg.ContentType | 1<<msg.ContentEncoding | 1<<msg.Server | 1<<msg.Date

// responseDerived are the fields whose value may be stored outside of a record.
const responseDerived uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding | 1<<msg.Connection |
	1<<msg.SetCookie | 1<<msg.Trailer | 1<<msg.ContentType | 1<<msg.Server

// Reset sets the header, including its settings, to the zero value. It keeps its
// memory for the next use.
func (h *ResponseHeader) Reset() {
	used(h.s.Loan)
	h.reset()
}

func (h *ResponseHeader) reset() {
	h.s.ResetAll()
	h.defaultServer, h.hideContents = "", false
}

// resetFields is Reset without the settings.
func (h *ResponseHeader) resetFields() { h.s.Reset() }

// CopyTo makes dst a copy of the header, including its settings and trailers, that shares
// no memory with it.
func (h *ResponseHeader) CopyTo(dst *ResponseHeader) {
	if dst == h {
		return
	}
	used(h.s.Loan)
	used(dst.s.Loan)
	h.s.CopyTo(&dst.s)
	dst.defaultServer, dst.hideContents = h.defaultServer, h.hideContents
}

// Peek returns the value of the first field called key, or nil if there is none.
// Finding a well-known field takes the same time however many fields there are. The
// bytes are borrowed: they are valid until h changes or the handler returns.
//
// For Content-Type, Content-Length, Transfer-Encoding and Connection, Peek returns
// the value that is written when the response is sent, whichever setter it comes
// from. For Set-Cookie it returns all values, separated by "; "; see PeekCookie.
func (h *ResponseHeader) Peek(key string) []byte { return h.peek(bytesconv.S2B(key)) }

// PeekBytes is [ResponseHeader.Peek] for a []byte key. The bytes are borrowed: they
// are valid until h changes or the handler returns.
func (h *ResponseHeader) PeekBytes(key []byte) []byte { return h.peek(key) }

// PeekCanonical is [ResponseHeader.PeekBytes] for a key in canonical spelling. In
// fasthttp it compares case-sensitively and is faster, because it needn't normalise
// the key. Here Peek doesn't normalise either. The bytes are borrowed: they are
// valid until h changes or the handler returns.
func (h *ResponseHeader) PeekCanonical(key []byte) []byte { return h.peek(key) }

func (h *ResponseHeader) peek(key []byte) []byte {
	id := msg.Lookup(key)
	if responseDerived&(1<<id) != 0 {
		return h.peekDerived(id)
	}
	if h.s.Spelling == msg.AsGiven && id == msg.Unknown {
		if v := h.s.Fields.PeekExact(key); v != nil {
			return v
		}
		return h.s.Trailers.PeekExact(key)
	}
	return h.peekPlain(id, key)
}

// peekPlain looks in the head and then in the trailer section.
func (h *ResponseHeader) peekPlain(id msg.ID, key []byte) []byte {
	if v := h.s.PeekID(id, key); v != nil {
		return v
	}
	return h.s.Trailers.Peek(id, key)
}

// place returns where to set the field called name (the head or the declared
// trailers), and deletes fields of that name in the other place.
func (h *ResponseHeader) place(id msg.ID, name []byte) *msg.Fields {
	if h.s.Seen()&head.TrailerBit == 0 {
		return &h.s.Fields
	}
	return h.s.Trailers.Place(&h.s.Fields, id, name)
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
	case msg.SetCookie:
		if v := h.cookieText(); v != nil {
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
func (h *ResponseHeader) PeekAll(key string) [][]byte {
	k := bytesconv.S2B(key)
	id := msg.Lookup(k)
	h.text.values = h.text.values[:0]
	used(h.s.Loan)
	if responseDerived&(1<<id) != 0 && uint64(1)<<id&(1<<msg.SetCookie|1<<msg.Server) == 0 {
		if v := h.peekDerived(id); len(v) > 0 {
			h.text.values = append(h.text.values, v)
		}
		return h.text.values
	}
	if v := h.s.Slot(id); v != nil {
		h.text.values = append(h.text.values, v)
	}
	if responseOne&(1<<id) != 0 {
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
//   - Set-Cookie adds a field, see also SetCookie.
//   - Content-Length works as SetContentLength does, and is ignored if it isn't a
//     number. When a response is written, its body decides.
//   - Transfer-Encoding is ignored, because the body decides.
//   - Trailer declares trailer fields, see SetTrailer.
//   - Content-Type, Content-Encoding, Server, Date and Connection are deleted if
//     the value is empty.
//
// A field that was declared with SetTrailer is sent after a chunked body. Set also
// deletes received fields of that name, including those of the trailer section.
// Date replaces the current date; fasthttp ignores it.
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
	h.place(id, key).Put(id, key, value, msg.AsGiven)
}

func (h *ResponseHeader) set(key, value []byte) {
	if h.s.Seen()&head.TrailerBit == 0 && h.s.Spelling == msg.Normalized && h.s.PutAgain(key, value, responseSpecial) {
		return
	}
	id := msg.Lookup(key)
	if responseSpecial&(1<<id) != 0 {
		h.setSpecial(id, key, value)
		return
	}
	f := &h.s.Fields
	if f.Seen()&head.TrailerBit != 0 {
		f = h.s.Trailers.Place(f, id, key)
	}
	f.Put(id, key, value, h.s.Spelling)
}

func (h *ResponseHeader) setSpecial(id msg.ID, key, value []byte) {
	used(h.s.Loan)
	switch id {
	case msg.ContentLength:
		if n, err := h1.ParseContentLength(value); err == nil {
			h.setLength(n)
		}
	case msg.TransferEncoding:
	case msg.Connection:
		h.setConnection(key, value)
	case msg.SetCookie:
		h.s.PutMore(id, key, value, h.s.Spelling)
	case msg.Trailer:
		_ = h.SetTrailerBytes(value)
	default:
		h.setOne(id, key, value)
	}
}

// setOne sets a field that may exist only once, or deletes it if the value is
// empty.
func (h *ResponseHeader) setOne(id msg.ID, key, value []byte) {
	if lapsed(h.s.Loan) {
		return
	}
	if h.s.SetSlot(id, value) {
		return
	}
	if f := h.place(id, key); len(value) > 0 || f != &h.s.Fields {
		f.Put(id, key, value, h.s.Spelling)
		return
	}
	h.s.Del(id, nil)
	if id == msg.Server {
		h.defaultServer = ""
	}
}

// Add appends a field, whether or not there are fields of that name. There can be
// only one Content-Type, Content-Encoding, Content-Length, Server, Date and
// Connection, so for them Add is Set. Transfer-Encoding is ignored. Trailer adds to
// the declared trailer fields.
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
		h.s.Trailers.PlaceMore(&h.s.Fields, key).PutMore(id, key, value, h.s.Spelling)
	case id == msg.Trailer:
		_ = h.AddTrailerBytes(value)
	default:
		if f := h.s.Trailers.PlaceMore(&h.s.Fields, key); f != &h.s.Fields {
			f.PutMore(id, key, value, h.s.Spelling)
			return
		}
		h.setSpecial(id, key, value)
	}
}

// Del deletes all fields called key. Deleting Content-Length sets the length to 0.
// Deleting Connection undoes SetConnectionClose.
func (h *ResponseHeader) Del(key string) { h.del(bytesconv.S2B(key)) }

// DelBytes is [ResponseHeader.Del] for a []byte key.
func (h *ResponseHeader) DelBytes(key []byte) { h.del(key) }

func (h *ResponseHeader) del(key []byte) {
	used(h.s.Loan)
	id := msg.Lookup(key)
	if id == msg.Trailer {
		_ = h.SetTrailerBytes(nil)
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
	case msg.Server:
		h.s.DropSlot(id)
		h.defaultServer = ""
	case msg.ContentType:
		h.s.DropSlot(id)
	}
}

// DisableNormalizing makes the header write field names in the spelling in which
// they were set or received, instead of "Foo-Bar" for "foo-BAR". It returns whether
// normalizing was disabled before. Names are compared case-insensitively even then.
func (h *ResponseHeader) DisableNormalizing() bool {
	used(h.s.Loan)
	return swap(&h.s.Spelling, msg.AsGiven) == msg.AsGiven
}

// EnableNormalizing undoes DisableNormalizing and returns whether normalizing was
// disabled before.
func (h *ResponseHeader) EnableNormalizing() bool {
	used(h.s.Loan)
	return swap(&h.s.Spelling, msg.Normalized) == msg.AsGiven
}

// SetNoDefaultContentType sets what is written for a response with a body and
// without a Content-Type: no Content-Type (true), or text/plain in UTF-8 (false,
// the default).
func (h *ResponseHeader) SetNoDefaultContentType(noDefaultContentType bool) {
	used(h.s.Loan)
	h.s.Implied &^= head.NoDefaultType
	if noDefaultContentType {
		h.s.Implied |= head.NoDefaultType
	}
}
