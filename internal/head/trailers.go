package head

import (
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
)

// TrailerBit is the bit of Trailer in msg.Fields.Seen. A message with names that the
// program declared, or with a trailer section, has a Trailer field; see mark. So if
// Seen()&TrailerBit == 0, there is no trailer section.
const TrailerBit uint64 = 1 << msg.Trailer

// Trailers is the trailer section of a message. What a peer declares or sends is only
// data: setters act on the section only for names that the program declares.
type Trailers struct {
	s *section // nil until it is needed
	// Open says that a trailer section may still be received.
	Open bool
	loan *lifetime.Loan // what the section belongs to while it is lent, else nil
}

// section has the data of Trailers. A Trailer field in the head with a value was received
// and isn't changed. One without a value represents the names that are stored here.
type section struct {
	declared NameList   // the names that the program declared
	set      msg.Fields // fields that the program set, with names in declared
	received msg.Fields // fields that were received, none of which the program has set or deleted since

	shown  Shown    // whether Peek finds the fields in received
	only   bool     // only fields with names in declared are received from now on
	barred NameList // names that the program deleted while Trailers.open was true
	full   bool     // there were too many of them: no more fields are received
	source any      // see Expect

	list, sent, spare NameList // the results of Declared and Announced; for replacing declared
}

// Shown says which received trailer fields the getters of the header find.
type Shown uint8

const (
	ShownNever  Shown = iota // none: for requests to a server
	ShownAbsent              // those whose names are not in the header
	ShownAll                 // all: PeekAll finds them after the fields of the header
)

// Reset makes t empty, and keeps its memory.
func (t *Trailers) Reset() {
	t.Open = false
	if t.s != nil {
		t.s.reset()
	}
}

//go:noinline so that Trailers.reset is inlined
func (s *section) reset() {
	s.declared.reset()
	s.set.Reset()
	s.received.Reset()
	s.shown, s.only, s.full, s.source = ShownNever, false, false, nil
	s.barred.reset()
	s.list.reset()
	s.sent.reset()
	s.spare.reset()
}

// CopyTo makes dst a copy of t.
func (t *Trailers) CopyTo(dst *Trailers) {
	dst.Reset()
	dst.Open = t.Open
	if t.s == nil {
		return
	}
	s := dst.need()
	t.s.declared.copyTo(&s.declared)
	t.s.set.CopyTo(&s.set)
	t.s.received.CopyTo(&s.received)
	s.shown, s.only, s.full = t.s.shown, t.s.only, t.s.full
	t.s.barred.copyTo(&s.barred)
}

// need returns the section, and makes it if there is none.
func (t *Trailers) need() *section {
	if t.s == nil {
		t.s = newSection(t.loan)
	}
	return t.s
}

// Place returns the fields in which a field called name must be set: the trailer section
// if the program declared it, else the head. It deletes fields of that name in the other
// one.
func (t *Trailers) Place(head *msg.Fields, id msg.ID, name []byte) *msg.Fields {
	s := t.s
	if s == nil {
		return head
	}
	s.received.Del(id, name)
	if !s.declared.has(name) {
		return head
	}
	head.Del(id, name)
	return &s.set
}

// PlaceMore returns the fields to which one more field called name must be added.
func (t *Trailers) PlaceMore(head *msg.Fields, name []byte) *msg.Fields {
	if t.s != nil && t.s.declared.has(name) {
		return &t.s.set
	}
	return head
}

// Peek returns the value of a trailer field for a getter that didn't find the name in the
// head: a field that the program set or, unless Shown is ShownNever, a received one; nil
// if there is none.
func (t *Trailers) Peek(id msg.ID, name []byte) []byte {
	if t.s == nil {
		return nil
	}
	if v := t.s.set.PeekID(id, name); v != nil || t.s.shown == ShownNever {
		return v
	}
	return t.s.received.PeekID(id, name)
}

// PeekExact is Peek for a field that is spelled exactly like name.
func (t *Trailers) PeekExact(name []byte) []byte {
	if t.s == nil {
		return nil
	}
	if v := t.s.set.PeekExact(name); v != nil || t.s.shown == ShownNever {
		return v
	}
	return t.s.received.PeekExact(name)
}

// AppendValues appends the values of the fields called name to dst, which has those of
// the head.
func (t *Trailers) AppendValues(dst [][]byte, id msg.ID, name []byte) [][]byte {
	if t.s == nil {
		return dst
	}
	dst = t.s.set.AppendValues(dst, id, name)
	if t.s.shown == ShownAll || t.s.shown == ShownAbsent && len(dst) == 0 {
		dst = t.s.received.AppendValues(dst, id, name)
	}
	return dst
}

// Del deletes the fields called name, and those that are received later.
func (t *Trailers) Del(id msg.ID, name []byte) {
	if t.s != nil {
		t.s.set.Del(id, name)
		t.s.received.Del(id, name)
	}
	if t.Open {
		t.need().bar(name)
	}
}

// bar makes Receive drop fields called name.
func (s *section) bar(name []byte) {
	if s.barred.Len() < MaxTrailers {
		s.barred.add(name, msg.AsGiven)
		return
	}
	s.full = s.full || !s.barred.has(name)
}

// Declare replaces the names that the program or a peer declared with those in list.
// Fields that are now declared move to the trailer section, except fields that were
// received in the head although the received Trailer field has their name. Fields that
// are no longer declared move to the head; those that were received in the trailer
// section of a request to a server are dropped instead.
func (t *Trailers) Declare(head *msg.Fields, list []byte, spelling msg.Spelling) error {
	if t.s == nil && len(list) == 0 && !t.Open {
		head.Del(msg.Trailer, nil)
		return nil
	}
	s := t.need()
	s.collect(&s.list, head, head.Find(msg.Trailer), spelling)
	s.declared, s.spare = s.spare, s.declared
	s.declared.reset()
	err := s.declared.addTrailers(list, spelling)
	for i := range s.spare.Len() {
		if name := s.spare.At(i); !s.declared.has(name) {
			moveFields(head, &s.set, name, spelling)
		}
	}
	for i := range s.declared.Len() {
		if name := s.declared.At(i); !s.list.has(name) || isSet(head, name) {
			moveFields(&s.set, head, name, spelling)
		}
	}
	for i := range s.received.Recs {
		if s.received.Recs[i].Flags&msg.Dead != 0 || s.declared.has(s.received.RawName(i)) {
			continue
		}
		if s.shown != ShownNever {
			head.PutMore(s.received.Recs[i].ID, s.received.NameAs(i, spelling), s.received.Value(i), msg.AsGiven)
		}
		s.received.DelAt(i)
	}
	s.only = t.Open
	head.Del(msg.Trailer, nil)
	s.mark(head)
	return err
}

// DeclareMore declares further names.
func (t *Trailers) DeclareMore(head *msg.Fields, list []byte, spelling msg.Spelling) error {
	s := t.need()
	before := s.declared.Len()
	err := s.declared.addTrailers(list, spelling)
	for i := before; i < s.declared.Len(); i++ {
		moveFields(&s.set, head, s.declared.At(i), spelling)
	}
	s.mark(head)
	return err
}

// AddValue declares a name and adds a field to the trailer section. Fields of that name
// in the head stay there.
func (t *Trailers) AddValue(head *msg.Fields, name, value []byte, spelling msg.Spelling) error {
	s := t.need()
	if err := s.declared.addTrailer(name, spelling); err != nil {
		return err
	}
	id := msg.Lookup(name)
	s.received.Del(id, name)
	s.set.PutMore(id, name, value, spelling)
	s.mark(head)
	return nil
}

// Expect is called before a goroutine may call Receive, with ShownNever and without
// onlyDeclared, while other goroutines call getters of the header. After Expect, Receive
// changes nothing that getters read, except getters of trailer fields. Expect adds a
// Trailer field without names to the head. source is what the section comes from.
func (t *Trailers) Expect(head *msg.Fields, source any) {
	t.need().source = source
	if !head.Has(msg.Trailer) {
		head.PutMore(msg.Trailer, msg.Trailer.Name(), nil, msg.Normalized)
	}
}

// Source returns what a section comes from that is, or was, expected; nil if none is.
func (t *Trailers) Source() any {
	if t.s == nil {
		return nil
	}
	return t.s.source
}

// Receive stores the fields of a received trailer section, except those that the program
// has set or deleted before. If onlyDeclared is set, it stores only those that the head
// declares.
func (t *Trailers) Receive(head, from *msg.Fields, spelling msg.Spelling, shown Shown, onlyDeclared bool) {
	t.Open = false
	if len(from.Recs) == 0 {
		return
	}
	s := t.need()
	if s.shown != shown {
		s.shown = shown
	}
	var names *NameList
	if onlyDeclared {
		if names = t.Declared(head, spelling); names == nil {
			return
		}
	}
	var mine NameList
	addSet(&mine, head)
	addSet(&mine, &s.set)
	for i := range from.Recs {
		name := from.RawName(i)
		switch {
		case s.full, s.only && !s.declared.has(name), s.barred.has(name), mine.has(name),
			onlyDeclared && !names.has(name), ForbiddenTrailer(name):
		default:
			s.received.PutMore(msg.Lookup(name), name, from.Value(i), spelling)
		}
	}
	s.mark(head)
}

// addSet adds the names of the fields that a setter wrote, not those from a parser.
func addSet(l *NameList, f *msg.Fields) {
	for i := range f.Recs {
		if f.Recs[i].Flags&(msg.Wire|msg.Dead) == msg.Wire {
			l.add(f.RawName(i), msg.AsGiven)
		}
	}
}

// isSet reports whether a setter wrote the first field called name.
func isSet(f *msg.Fields, name []byte) bool {
	i := f.FindName(name)
	return i >= 0 && f.Recs[i].Flags&msg.Wire != 0
}

// mark gives the head a Trailer field if it has none and needs one.
func (s *section) mark(head *msg.Fields) {
	if s.declared.Len()+s.received.Len() > 0 && !head.Has(msg.Trailer) {
		head.PutMore(msg.Trailer, msg.Trailer.Name(), nil, msg.Normalized)
	}
}

// Apart returns the names that no Trailer field in the head lists: those that the
// program declared and those of the fields that were received. declared is false if
// the program declared none.
func (t *Trailers) Apart(spelling msg.Spelling) (list []byte, declared bool) {
	if !t.ToSend() {
		return nil, false
	}
	return t.s.collect(&t.s.sent, nil, -1, spelling).text, t.s.declared.Len() > 0
}

// ToSend reports whether a trailer section must be sent.
func (t *Trailers) ToSend() bool {
	return t.s != nil && t.s.declared.Len()+t.s.set.Len()+t.s.received.Len() > 0
}

// Declared returns the names that were declared or received, nil if there are none. It
// leaves out names in a received Trailer field that are forbidden in a trailer section,
// and names beyond MaxTrailers.
func (t *Trailers) Declared(head *msg.Fields, spelling msg.Spelling) *NameList {
	i := head.Find(msg.Trailer)
	if i < 0 {
		return nil
	}
	s := t.need()
	return s.collect(&s.list, head, i, spelling)
}

// Announced returns the names for the Trailer field when the message is written,
// separated by ", ". If the message is chunked, that includes names that only a peer
// declared, because such fields may still arrive.
func (t *Trailers) Announced(head *msg.Fields, chunked bool, spelling msg.Spelling) []byte {
	i := head.Find(msg.Trailer)
	if i < 0 || !chunked && !t.ToSend() {
		return nil
	}
	s := t.need()
	if !chunked {
		i = -1
	}
	return s.collect(&s.sent, head, i, spelling).text
}

// collect sets dst to three groups of names: those in the received Trailer fields from
// field i on, all that the program declared, and those of the received trailer fields.
func (s *section) collect(dst *NameList, head *msg.Fields, i int, spelling msg.Spelling) *NameList {
	dst.reset()
	for ; i >= 0; i = head.Next(i) {
		_ = dst.addTrailers(head.Value(i), spelling)
	}
	for i := range s.declared.Len() {
		dst.add(s.declared.At(i), msg.AsGiven)
	}
	for i := range s.received.Recs {
		if s.received.Recs[i].Flags&msg.Dead == 0 {
			_ = dst.addTrailer(s.received.RawName(i), spelling)
		}
	}
	return dst
}

// Fields returns the fields of the trailer section in two parts: those that were received
// and, after them, those that the program set. Both are nil if there never was a trailer
// section.
func (t *Trailers) Fields() (received, set *msg.Fields) {
	if t.s == nil {
		return nil, nil
	}
	return &t.s.received, &t.s.set
}

// moveFields moves all fields called name from one section to the end of the
// other.
func moveFields(to, from *msg.Fields, name []byte, spelling msg.Spelling) {
	id := msg.Lookup(name)
	i := from.FindID(id, name)
	if i < 0 {
		return
	}
	for ; i >= 0; i = from.Next(i) {
		to.PutMore(id, from.NameAs(i, spelling), from.Value(i), msg.AsGiven)
	}
	from.Del(id, name)
}
