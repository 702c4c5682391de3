package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/msg"
)

// heldField is a field of which there is one and that nearly all responses set,
// to nearly always the same. It stands beside the records of the other fields, and
// its memory survives Reset, so that setting it to what it was is one comparison.
// A field that was received, or is longer than maxHeld, has a record instead;
// never both.
type heldField struct {
	value []byte // what was set last
	set   bool
}

// maxHeld bounds the memory that a header keeps for a held field.
const maxHeld = 128

func (f *heldField) copyTo(dst *heldField) {
	if dst.set = f.set; f.set {
		dst.value = append(dst.value[:0], f.value...)
	}
}

func (f *heldField) appendLine(dst []byte, id msg.ID) []byte {
	if !f.set {
		return dst
	}
	return appendLine(dst, id, f.value)
}

// hold sets Server or Content-Type as a held field. It reports false if the
// field must have a record; there is no held one then.
func (h *ResponseHeader) hold(f *heldField, id msg.ID, value []byte) bool {
	if uint(len(value)-1) >= maxHeld || !h.canHold(id) {
		f.set = false
		return false
	}
	f.value = append(f.value[:0], value...)
	bytesconv.NeutralizeText(f.value)
	f.set = true
	h.opening.second = clock.Mark{}
	return true
}

// canHold reports whether the field with that id need not have a record.
func (h *ResponseHeader) canHold(id msg.ID) bool { return h.s.Seen()&(trailerBit|1<<id) == 0 }

// held returns where the field with that id may be held, or nil.
func (h *ResponseHeader) held(id msg.ID) *heldField {
	switch id {
	case msg.Server:
		return &h.server
	case msg.ContentType:
		return &h.contentType
	}
	return nil
}

// record makes held fields ordinary ones, for what deals with all fields alike.
func (h *ResponseHeader) record() {
	for _, id := range [...]msg.ID{msg.Server, msg.ContentType} {
		if f := h.held(id); f.set {
			f.set = false
			h.s.Put(id, id.Name(), f.value, false)
		}
	}
}

// opening is a response's head up to Content-Length and its line: the status line
// of a 200, Server, Date and Content-Type are the same for most responses of a second,
// and the length is for many. It survives Reset.
type opening struct {
	text   []byte
	fixed  int        // how much of text stands before the length
	length int64      // of the body
	server string     // the name of the server, if there is no own
	second clock.Mark // that of the date; the zero Mark if a held field has changed
	kind   uint8
}

// The kinds of an opening, a bit set.
const (
	ownServer uint8 = 1 << iota
	ownType
	noType
)

// current returns the opening of the response of h, made anew as far as it has
// to be. It is valid until the next call.
func (o *opening) current(h *ResponseHeader, server []byte) []byte {
	kind := uint8(0)
	if h.server.set {
		kind = ownServer
	}
	n := h.s.ContentLength
	if h.contentType.set {
		kind |= ownType
	} else if n == 0 || h.noDefaultContentType {
		kind |= noType
	}
	if o.kind != kind || o.second != clock.Current() || kind&ownServer == 0 && o.server != string(server) {
		o.make(h, server, kind)
	} else if n != o.length {
		o.setLength(n)
	}
	return o.text
}

func (o *opening) make(h *ResponseHeader, server []byte, kind uint8) {
	o.kind, o.second = kind, clock.Current()
	if o.server != string(server) {
		o.server = string(server)
	}
	b := append(o.text[:0], "HTTP/1.1 200 OK\r\n"...)
	if h.server.set {
		b = h.server.appendLine(b, msg.Server)
	} else {
		b = appendServer(b, server)
	}
	b = appendDate(b, o.second)
	if kind&(ownType|noType) == 0 {
		b = appendLine(b, msg.ContentType, strTextType)
	} else {
		b = h.contentType.appendLine(b, msg.ContentType)
	}
	o.text = append(b, "Content-Length: "...)
	o.fixed = len(o.text)
	o.setLength(h.s.ContentLength)
}

func (o *opening) setLength(n int64) {
	o.length = n
	b := bytesconv.AppendInt(o.text[:o.fixed], n)
	o.text = append(b, '\r', '\n')
}
