package gale

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/msg"
)

// Server and Content-Type are held: there is one of each, and nearly all responses
// set them, to nearly always the same. So they stand beside the records of the
// other fields, and their memory survives Reset: setting one to what it was is one
// comparison. One that was received, or is longer than maxHeld, has a record
// instead; never both.

// look is what a response's head consists of beside its records, a bit set.
type look uint8

const (
	ownServer look = 1 << iota // Server is held
	ownType                    // Content-Type is held
	noType                     // there is no default for it
	noDate
)

// maxHeld bounds the memory that a header keeps for a held field.
const maxHeld = 128

// hold sets Server or Content-Type as a held field, of which held returns the
// first two arguments. It reports false if the field must have a record; there is
// no held one then.
func (h *ResponseHeader) hold(held *[]byte, own look, id msg.ID, value []byte) bool {
	if uint(len(value)-1) >= maxHeld || !h.canHold(id) {
		h.look &^= own
		return false
	}
	*held = append((*held)[:0], value...)
	bytesconv.NeutralizeText(*held)
	h.look |= own
	h.opening.second = clock.Mark{}
	return true
}

// canHold reports whether the field with that id need not have a record.
func (h *ResponseHeader) canHold(id msg.ID) bool { return h.s.Seen()&(trailerBit|1<<id) == 0 }

// held returns where the field with that id may be held and the bit that says that
// it is, or nil and 0.
func (h *ResponseHeader) held(id msg.ID) (value *[]byte, own look) {
	switch id {
	case msg.Server:
		return &h.server, ownServer
	case msg.ContentType:
		return &h.contentType, ownType
	}
	return nil, 0
}

// record makes held fields ordinary ones, for what deals with all fields alike.
func (h *ResponseHeader) record() {
	for _, id := range [...]msg.ID{msg.Server, msg.ContentType} {
		if held, own := h.held(id); h.look&own != 0 {
			h.look &^= own
			h.s.Put(id, id.Name(), *held, false)
		}
	}
}

// opening is a response's head up to Content-Length and its line: the status line
// of a 200, Server, Date and Content-Type are the same for most responses of a second,
// and the length is for many. It survives Reset.
type opening struct {
	text   []byte     // with an empty line behind it
	length int64      // of the body
	server string     // the name of the server, if there is no own
	second clock.Mark // that of the date; the zero Mark if a held field has changed
	fixed  int        // how much of text stands before the length
	look   look
}

// isWhole reports whether the opening, as it is, is the whole head of a response of
// h with a length: one more of a kind. It looks at everything that a head can
// consist of: what is no number or flag of h stands in the arena.
func (o *opening) isWhole(h *ResponseHeader, server string) bool {
	return len(h.s.Buf) == 0 && o.length == h.s.ContentLength && o.look == h.look &&
		(h.s.Status == 0 || h.s.Status == StatusOK) && h.s.Conn == 0 && h.s.Minor != 0 &&
		o.second.Lasts() && (o.look&ownServer != 0 || o.server == server)
}

// current returns the opening of a response of h that is plain, see appendText,
// made anew as far as it has to be. It is valid until the next call.
func (o *opening) current(h *ResponseHeader, server string) []byte {
	n := h.s.ContentLength
	switch {
	case o.look != h.look || o.second != clock.Current() || o.look&ownServer == 0 && o.server != server,
		(n == 0) != (o.length == 0): // that decides on the default Content-Type
		o.make(h, server)
	case n != o.length:
		o.setLength(n)
	}
	return o.text
}

func (o *opening) make(h *ResponseHeader, server string) {
	o.look, o.second, o.server = h.look, clock.Current(), server
	b := append(o.text[:0], "HTTP/1.1 200 OK\r\n"...)
	b = h.appendLeading(b, server, true)
	o.text = append(b, "Content-Length: "...)
	o.fixed = len(o.text)
	o.setLength(h.s.ContentLength)
}

func (o *opening) setLength(n int64) {
	o.length = n
	b := bytesconv.AppendInt(o.text[:o.fixed], n)
	o.text = append(b, "\r\n\r\n"...)
}
