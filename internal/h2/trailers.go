package h2

import (
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// trailerParts holds the fields that trailer sections are decoded into, until they
// are complete.
var trailerParts = pool.Pool{New: func() any { return new(msg.Fields) }}

// DecodeTrailers decodes the trailer section of the last Trailers event, and
// appends its fields to f. It must be called once, before the next Read. If f is
// nil, the fields are dropped. An error is an *Error; f is then unchanged. The
// stream was reset, as after a Reset event, unless this side has ended it. The
// caller must still call Done.
func (c *Conn) DecodeTrailers(f *msg.Fields) error {
	b := &c.read.block
	if !b.ready || b.kind != blockTrailers {
		panic("h2: there is no trailer section to decode")
	}
	id := b.stream
	var err *Error
	if f == nil {
		if !c.skipBlock(b.bytes) {
			err = ErrCompression
		}
	} else {
		part := trailerParts.Get().(*msg.Fields)
		var limit fieldLimit
		switch err = c.decodeTrailers(b.bytes, part, &limit); {
		case err != nil:
		case !c.keepHead(c.streams.find(id), limit.list):
			err = ErrTrailers
		case !f.Append(part):
			err = ErrTooManyFields
		}
		part.Reset()
		trailerParts.Put(part)
	}
	b.drop()
	if err == nil {
		return nil
	}
	if !c.failed && c.streams.find(id).state&ended == 0 {
		var ev Event
		c.blame(id, err.Code, &ev)
	}
	return err
}

// decodeTrailers decodes a trailer section into f, which must be empty, and counts
// its fields.
func (c *Conn) decodeTrailers(block []byte, f *msg.Fields, limit *fieldLimit) *Error {
	had := cap(f.Buf)
	err := c.decodeTrailerFields(block, f, limit)
	f.Own(had)
	return err
}

func (c *Conn) decodeTrailerFields(block []byte, f *msg.Fields, limit *fieldLimit) *Error {
	dec := &c.coding.dec
	if dec.Begin(block) != nil {
		return c.failCompression()
	}
	var x hpack.Field
	for dec.More() {
		var err error
		if f.Buf, err = dec.Next(f.Buf, &x); err != nil {
			return c.failCompression()
		}
		if err := limit.add(&x, c.cfg); err != nil {
			return c.skipRest(err)
		}
		if err := checkTrailer(&x, f.Buf); err != nil {
			return c.skipRest(err)
		}
		f.Push(msg.Field{NameOff: x.NameOff, ValOff: x.ValOff, ValLen: x.ValLen, NameLen: uint16(x.NameLen), ID: x.ID})
	}
	return nil
}

func checkTrailer(f *hpack.Field, arena []byte) *Error {
	if f.Pseudo != hpack.NotPseudo {
		return ErrPseudo
	}
	if f.Static|f.Mark == 0 {
		if err := checkField(f, arena); err != nil {
			return err
		}
	}
	switch {
	case (connectionFields|1<<msg.Te)>>f.ID&1 != 0:
		return ErrConnection
	case head.ForbiddenTrailer(arena[f.NameOff : f.NameOff+f.NameLen]):
		return ErrTrailer
	}
	return nil
}
