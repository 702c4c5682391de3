package h2

import (
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// maxInterims is how many informational responses may come before a final one.
const maxInterims = 100

// DecodeResponse decodes the response of the last Head event into h, which must be
// empty (Reset). It or DecodeStatus must be called once, before any other call for the
// stream, and before the input of Read changes.
//
// A status of 100 to 199 is an informational response; another Head event follows. On
// success h is complete. Proto is "HTTP/2.0". ContentLength is the value of
// Content-Length; without one it is 0 if END_STREAM came with the head, else
// msg.LenChunked. Names keep the lower case in which they came; msg.Fields returns them in
// their customary spelling.
//
// After an error, an *Error, h is empty, and the stream was reset, as after a Reset event.
// The caller must still call Done. Failed says whether the connection has ended, too.
func (c *Conn) DecodeResponse(h *msg.ResponseHead) error {
	st := c.responseStream()
	b := &c.read.block
	d := responseDecoder{c: c, st: st, h: h, end: b.end}
	err := d.decode(b.bytes)
	b.drop()
	if err == nil {
		err = c.takeStatus(st, h.Status, d.end)
	}
	if err == nil && h.Status >= 200 && !c.keepHead(st, d.limit.list) {
		err = ErrResponseHeads
	}
	if err != nil {
		h.Fields.Reset() // Reset alone does nothing before there are records
		h.Reset()
		c.refuseResponse(st, err)
		return err
	}
	if h.ContentLength >= 0 && st.mayHaveBody(h.Status) && !st.isTunnel(h.Status) {
		st.left = h.ContentLength
	}
	h.Verify()
	return nil
}

// mayHaveBody reports whether a response with that status can have a body (RFC 9110
// section 6.4.1).
func (st *Stream) mayHaveBody(status int) bool {
	return st.state&toHead == 0 && head.StatusHasBody(status)
}

// isTunnel reports whether a response with that status makes the stream a tunnel: then DATA
// isn't its content (RFC 9110 section 9.3.6).
func (st *Stream) isTunnel(status int) bool { return st.protocol != nil && status/100 == 2 }

// DecodeStatus is DecodeResponse for a caller that needs only the status code. The other
// fields are not checked, and Content-Length is not compared with the data. It takes less
// time, and no memory.
func (c *Conn) DecodeStatus() (status int, err error) {
	st := c.responseStream()
	b := &c.read.block
	end := b.end
	status, bad := c.decodeStatus(b.bytes)
	b.drop()
	if bad == nil {
		bad = c.takeStatus(st, status, end)
	}
	if bad != nil {
		c.refuseResponse(st, bad)
		return 0, bad
	}
	return status, nil
}

// responseStream returns the stream of the response that must be decoded.
func (c *Conn) responseStream() *Stream {
	if b := &c.read.block; !b.ready || b.kind != blockHead || !c.client {
		panic("h2: there is no response to decode")
	}
	return c.streams.find(c.read.block.stream)
}

// takeStatus applies the status of a response to its stream (RFC 9113 section 8.1). end
// says that END_STREAM came with it.
func (c *Conn) takeStatus(st *Stream, status int, end bool) *Error {
	if status >= 200 {
		st.state &^= awaitsHead
		if !st.mayHaveBody(status) && !st.isTunnel(status) {
			st.left = 0
		}
		return nil
	}
	st.interims++
	switch {
	case end, status == 101: // RFC 9113 sections 8.1 and 8.6
		return ErrStatus
	case st.interims > maxInterims:
		return ErrInterims
	}
	return nil
}

// refuseResponse resets the stream of a malformed response.
func (c *Conn) refuseResponse(st *Stream, err *Error) {
	switch {
	case c.failed:
	case st.isClosed():
		c.ResetStream(st, err.Code) // sends nothing
	default:
		var ev Event
		c.blame(st.id, err.Code, &ev)
	}
}

// decodeStatus decodes the :status of a field block, which comes first, and skips the
// rest.
func (c *Conn) decodeStatus(block []byte) (status int, _ *Error) {
	dec := &c.coding.dec
	if dec.Begin(block) != nil {
		return 0, c.failCompression()
	}
	var f hpack.Field
	err := ErrPseudoMissing
	if dec.More() {
		b, bad := dec.Next(c.coding.scratch[:0], &f)
		if bad != nil {
			return 0, c.failCompression()
		}
		b = c.keep(b)
		if f.Pseudo == hpack.Status {
			if status = parseStatus(b[f.ValOff : f.ValOff+f.ValLen]); status != 0 {
				err = nil
			} else {
				err = ErrStatus
			}
		}
	}
	return status, c.skipRest(err)
}

// parseStatus returns a status code of three digits, at least 100, or 0.
func parseStatus(b []byte) int {
	if len(b) != 3 || b[0]-'1' > 8 || b[1]-'0' > 9 || b[2]-'0' > 9 {
		return 0
	}
	return int(b[0]-'0')*100 + int(b[1]-'0')*10 + int(b[2]-'0')
}

// responseDecoder decodes one head.
type responseDecoder struct {
	c     *Conn
	st    *Stream
	h     *msg.ResponseHead
	end   bool // END_STREAM
	limit fieldLimit
}

// decode decodes the fields of a block, and checks each.
func (d *responseDecoder) decode(block []byte) *Error {
	c, h := d.c, d.h
	dec := &c.coding.dec
	if dec.Begin(block) != nil {
		return c.failCompression()
	}
	h.Status = 0
	arena := append(h.Buf[:0], textProto...)
	recs := h.Recs[:0]
	var f hpack.Field
	for dec.More() {
		var err error
		if arena, err = dec.Next(arena, &f); err != nil {
			return c.failCompression()
		}
		if err := d.limit.add(&f, c.cfg); err != nil {
			return c.skipRest(err)
		}
		if f.Pseudo != hpack.NotPseudo {
			if f.Pseudo != hpack.Status || h.Status != 0 || len(recs) > 0 {
				return c.skipRest(ErrPseudo)
			}
			if h.Status = parseStatus(arena[f.ValOff : f.ValOff+f.ValLen]); h.Status == 0 {
				return c.skipRest(ErrStatus)
			}
			continue
		}
		if f.Static|f.Mark == 0 {
			if err := checkField(&f, arena); err != nil {
				return c.skipRest(err)
			}
			dec.SetMark(1)
		}
		recs = append(recs, msg.Field{})
		r := &recs[len(recs)-1] // in place, see requestDecoder.decode
		r.NameOff, r.ValOff, r.ValLen, r.NameLen, r.ID = f.NameOff, f.ValOff, f.ValLen, uint16(f.NameLen), f.ID
	}
	if h.Status == 0 {
		return ErrPseudoMissing
	}
	had := cap(h.Buf)
	h.Buf, h.Recs = arena, h.Recs[:0]
	h.Own(had)
	return d.finish(h.Adopt(recs))
}

// finish checks the fields that concern the message itself, and derives the plain data of
// the head from them. dups has the bits of fields that occur more than once.
func (d *responseDecoder) finish(dups uint64) *Error {
	h := d.h
	h.Parts[msg.Proto] = msg.Span{Len: uint32(len(textProto))}
	seen := h.Seen()
	if seen&(connectionFields|1<<msg.Te) != 0 {
		return ErrConnection
	}
	h.ContentLength = msg.LenChunked
	if d.end && !d.st.IsHead() { // the response to HEAD says nothing by its end
		h.ContentLength = 0
	}
	if seen&(1<<msg.ContentLength) != 0 {
		if err := d.takeLength(dups); err != nil {
			return err
		}
	}
	if dups&(1<<msg.ContentType) != 0 {
		keepFirst(&h.Fields, msg.ContentType)
	}
	return nil
}

// takeLength sets the length of the body. Without DATA it can only be 0, unless the
// response can't have a body (RFC 9113 section 8.1.1).
func (d *responseDecoder) takeLength(dups uint64) *Error {
	h := d.h
	n, err := h1.ParseContentLength(h.Peek(msg.ContentLength))
	switch {
	case err == h1.ErrBodyTooLong:
		return ErrBodyTooLong
	case dups&(1<<msg.ContentLength) != 0, err != nil, d.end && n != 0 && d.st.mayHaveBody(h.Status):
		return ErrContentLength
	}
	h.ContentLength = n
	return nil
}
