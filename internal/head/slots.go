package head

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// Implied is a bit set that says what a response has in addition to its records.
type Implied uint8

// The bits of Implied.
const (
	ServerSlot    Implied = 1 << iota // Server is in its slot
	TypeSlot                          // Content-Type is in its slot
	NoDefaultType                     // there is no default for Content-Type
	NoDate                            // there is no Date if no record has one
)

// Server and Content-Type have a slot each, because a response has at most one of each,
// and nearly all responses set them, nearly always to the same value. If s is the slot of
// field id and bit its bit in Implied:
//
//	Implied&bit != 0  =>  1 <= len(s) <= maxSlot, and no record has the id
//	Implied&bit == 0  =>  s is what the slot had last; it is compared and never shown
//
// So setting a field to the value that it had before Reset needs one comparison. Values
// that were received, that are longer than maxSlot, or that are in a message with trailer
// fields are records.

// maxSlot is the highest number of bytes that a response keeps for a slot.
const maxSlot = 128

// slot returns the slot of the field with that id and its bit, nil and 0 if it has
// none.
func (r *Response) slot(id msg.ID) (s *[]byte, bit Implied) {
	switch id {
	case msg.Server:
		return &r.server, ServerSlot
	case msg.ContentType:
		return &r.contentType, TypeSlot
	}
	return nil, 0
}

// slotFree reports whether the field may be in its slot: no record has the id, and the
// message has no trailer fields, because the field could be declared as one.
func (r *Response) slotFree(id msg.ID) bool { return r.Seen()&(TrailerBit|1<<id) == 0 }

// Slot returns the value in the slot of the field with that id, nil if there is none.
func (r *Response) Slot(id msg.ID) []byte {
	if s, bit := r.slot(id); r.Implied&bit != 0 {
		return *s
	}
	return nil
}

// SetServerAgain sets Server to value if that is the last value of its slot. Otherwise it
// does nothing and returns false.
func (r *Response) SetServerAgain(value string) bool {
	if string(r.server) != value || len(value) == 0 || !r.slotFree(msg.Server) {
		return false
	}
	r.Implied |= ServerSlot
	return true
}

// SetTypeAgain is SetServerAgain for Content-Type.
func (r *Response) SetTypeAgain(value string) bool {
	if string(r.contentType) != value || len(value) == 0 || !r.slotFree(msg.ContentType) {
		return false
	}
	r.Implied |= TypeSlot
	return true
}

// SetSlot sets the field with that id in its slot. It returns false if the field must be
// a record or has no slot; the slot is then empty.
func (r *Response) SetSlot(id msg.ID, value []byte) bool {
	s, bit := r.slot(id)
	if bit == 0 || uint(len(value)-1) >= maxSlot || !r.slotFree(id) {
		r.Implied &^= bit
		return false
	}
	*s = append((*s)[:0], value...)
	bytesconv.NeutralizeText(*s)
	r.Implied |= bit
	r.slotChanges++
	return true
}

// DropSlot deletes the field with that id from its slot.
func (r *Response) DropSlot(id msg.ID) {
	_, bit := r.slot(id)
	r.Implied &^= bit
}

// Record turns the values in slots into records, for code that treats all fields in the
// same way.
func (r *Response) Record() {
	for _, id := range [...]msg.ID{msg.Server, msg.ContentType} {
		if s, bit := r.slot(id); r.Implied&bit != 0 {
			r.Implied &^= bit
			r.Put(id, id.Name(), *s, msg.Normalized)
		}
	}
}

// SlotChanges returns how often slots got another value. A writer that keeps text made
// from slots compares it.
func (r *Response) SlotChanges() uint64 { return r.slotChanges }
