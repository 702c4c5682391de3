package head

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// Implied tells what a response has beside its records, a bit set.
type Implied uint8

// The bits of Implied.
const (
	ServerSlot    Implied = 1 << iota // Server is in its slot
	TypeSlot                          // Content-Type is in its slot
	NoDefaultType                     // there is no default for Content-Type
	NoDate                            // there is no Date if no record has one
)

// Server and Content-Type have a slot each, since there is one of each, and nearly
// all responses set them, to nearly always the same. With s the slot of field id and
// bit its bit in Implied:
//
//	Implied&bit != 0  =>  1 <= len(s) <= maxSlot, and no record has the id
//	Implied&bit == 0  =>  s is what the slot had last; it is compared and never shown
//
// So Put of the value that the field had before Reset is one comparison. A value that
// was received, or is longer, or is in a message with trailer fields, is a record.

// maxSlot bounds the memory that a response keeps for a slot, in bytes.
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

// slotFree reports whether the field may be in its slot: no record has the id, and
// there are no trailer fields, among which it may be declared.
func (r *Response) slotFree(id msg.ID) bool { return r.Seen()&(TrailerBit|1<<id) == 0 }

// Slot returns the value that the field with that id has in its slot, nil if it has
// none there.
func (r *Response) Slot(id msg.ID) []byte {
	if s, bit := r.slot(id); r.Implied&bit != 0 {
		return *s
	}
	return nil
}

// SetServerAgain sets Server to value if that is what its slot had last. It reports
// false, and does nothing, for anything else.
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

// SetSlot sets the field with that id in its slot. It reports false if it must be a
// record, or has no slot; the slot is empty then.
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

// Record turns what is in slots into records, for what deals with all fields alike.
func (r *Response) Record() {
	for _, id := range [...]msg.ID{msg.Server, msg.ContentType} {
		if s, bit := r.slot(id); r.Implied&bit != 0 {
			r.Implied &^= bit
			r.Put(id, id.Name(), *s, msg.Normalized)
		}
	}
}

// SlotChanges counts the values that slots were given. A writer that keeps text made
// of slots compares it.
func (r *Response) SlotChanges() uint64 { return r.slotChanges }
