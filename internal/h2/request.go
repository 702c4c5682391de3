package h2

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// DecodeRequest decodes the request of the last Head event into h, which must be
// empty (Reset). It must be called once, before any other call for the stream, and
// before the input of Read changes. If h is nil, the block is decoded and dropped,
// for a request that is refused: the table is updated, and the stream is open.
//
// On success h is complete: method, target and Host are set, whichever fields they
// came in. Cookie is one field. Proto is "HTTP/2.0". ContentLength is the value of
// Content-Length, msg.LenChunked for a body of unknown length, or msg.LenUnknown
// without a body and for an extended CONNECT. Names keep the lower case in which they came; msg.Fields returns
// them in their customary spelling.
//
// After an error h is empty, except that MethodID is MethodHead if that was the
// method. The error is an *Error:
//
//   - If Status isn't 0, the caller may answer the request like any other: the
//     stream is open, and Done must be called.
//   - If Status is 0, RST_STREAM is queued, and the stream is gone: it must not be
//     used, and Done must not be called. Failed says whether the connection has
//     ended, too.
func (c *Conn) DecodeRequest(h *msg.RequestHead) error {
	b := &c.read.block
	if !b.ready || b.kind != blockHead {
		panic("h2: there is no head to decode")
	}
	st := c.streams.find(b.stream)
	if h == nil {
		c.skipBlock(b.bytes)
		b.drop()
		return nil
	}
	d := requestDecoder{c: c, h: h, end: b.end}
	err := d.decode(b.bytes)
	b.drop()
	if (err == nil || err.Status != 0) && !c.keepHead(st, d.limit.list) {
		err = ErrHeads
	}
	if err != nil {
		isHead := err.Status != 0 && d.has(hpack.Method) && string(d.value(hpack.Method)) == "HEAD"
		h.Reset()
		if isHead {
			h.MethodID = msg.MethodHead
		}
		c.refuseRequest(st, err)
		return err
	}
	if h.ContentLength >= 0 {
		st.left = h.ContentLength
	}
	if st.protocol = d.protocol(); st.protocol != nil {
		st.left = -1
	}
	c.prioritize(st, h)
	h.Verify()
	return nil
}

// keepHead counts n bytes of a head or trailer section that is kept as long as its
// stream. It returns false if there are too many.
func (c *Conn) keepHead(st *Stream, n int) bool {
	if int(c.heads)+n > c.cfg.Heads {
		return false
	}
	c.heads += int32(n)
	st.head += n
	return true
}

// refuseRequest resets the stream of a malformed request.
func (c *Conn) refuseRequest(st *Stream, err *Error) {
	switch {
	case err.Status != 0 && !c.failed:
		return
	case !c.failed:
		var ev Event
		c.blame(st.id, err.Code, &ev)
	}
	c.streams.remove(st)
}

// prioritize gives a stream the priority that its request asks for, unless a
// PRIORITY_UPDATE has come before (RFC 9218 section 7). As long as a client hasn't
// used priorities, its responses share the connection: such a client couldn't ask
// for a small response before a large one.
func (c *Conn) prioritize(st *Stream, h *msg.RequestHead) {
	i := h.Find(msg.Priority)
	c.peer.prioritized = c.peer.prioritized || i >= 0
	if st.state&updated != 0 {
		return
	}
	st.prio.Incremental = !c.peer.prioritized
	for ; i >= 0; i = h.Next(i) {
		st.prio = ParsePriority(st.prio, h.Value(i))
	}
}

// requestDecoder decodes one head.
type requestDecoder struct {
	c      *Conn
	h      *msg.RequestHead
	end    bool // END_STREAM
	limit  fieldLimit
	pseudo uint16 // bit 1<<p for each pseudo-field that has occurred
	spans  [hpack.Status]msg.Span
}

// Each arena of a head begins with these bytes, for parts that have no bytes of
// their own.
const (
	textProto = "HTTP/2.0"
	textHost  = "host"
)

func (d *requestDecoder) has(p hpack.Pseudo) bool { return d.pseudo>>p&1 != 0 }

func (d *requestDecoder) value(p hpack.Pseudo) []byte { return d.h.Bytes(d.spans[p]) }

func (d *requestDecoder) protocol() []byte {
	if d.has(hpack.Protocol) {
		return d.value(hpack.Protocol)
	}
	return nil
}

// decode decodes the fields of a block, and checks each.
func (d *requestDecoder) decode(block []byte) *Error {
	c, h := d.c, d.h
	dec := &c.coding.dec
	if dec.Begin(block) != nil {
		return c.failCompression()
	}
	arena := append(h.Buf[:0], textProto+textHost...)
	recs := h.Recs[:0]
	var f hpack.Field
	for dec.More() {
		var err error
		if arena, err = dec.Next(arena, &f); err != nil {
			return c.failCompression()
		}
		if err := d.limit.add(&f, c.cfg); err != nil {
			h.Buf = arena
			return c.skipRest(err)
		}
		if f.Pseudo != hpack.NotPseudo {
			if err := d.takePseudo(&f, arena, len(recs) > 0); err != nil {
				h.Buf = arena
				return c.skipRest(err)
			}
			continue
		}
		if f.Static|f.Mark == 0 {
			if err := checkField(&f, arena); err != nil {
				return c.skipRest(err)
			}
			dec.SetMark(1)
		}
		if len(recs) == 0 { // reserved for Host
			recs = append(recs, msg.Field{})
		}
		recs = append(recs, msg.Field{})
		r := &recs[len(recs)-1] // in place: making a record elsewhere and copying it stalls the processor
		r.NameOff, r.ValOff, r.ValLen, r.NameLen, r.ID = f.NameOff, f.ValOff, f.ValLen, uint16(f.NameLen), f.ID
	}
	h.Buf = arena
	return d.adopt(recs)
}

// takePseudo takes a pseudo-field (RFC 9113 section 8.3). late says that other
// fields came before it. Its value is checked here as far as the check doesn't
// depend on other fields, so an entry of the table is checked only once.
func (d *requestDecoder) takePseudo(f *hpack.Field, arena []byte, late bool) *Error {
	p := f.Pseudo
	if p >= hpack.Status || late || d.has(p) {
		return ErrPseudo
	}
	d.pseudo |= 1 << p
	d.spans[p] = msg.Span{Off: f.ValOff, Len: f.ValLen}
	if f.Static|f.Mark != 0 && p != hpack.Authority { // the static entry is empty
		return nil
	}
	v := arena[f.ValOff : f.ValOff+f.ValLen]
	if f.Mark == 0 {
		if err := d.checkPseudo(p, v); err != nil {
			return err
		}
		d.c.coding.dec.SetMark(1)
	}
	return nil
}

// maxMethod is the longest method in bytes, as for HTTP/1.1.
const maxMethod = 64

func (d *requestDecoder) checkPseudo(p hpack.Pseudo, v []byte) *Error {
	switch p {
	case hpack.Method:
		if len(v) > maxMethod {
			return ErrMethodTooLong
		}
		if !bytesconv.IsToken(v) {
			return ErrMethod
		}
	case hpack.Scheme:
		if !bytesconv.EqualFoldString(v, "http") && !bytesconv.EqualFoldString(v, "https") {
			return ErrScheme
		}
	case hpack.Authority:
		if len(v) == 0 || !h1.ValidHost(v) {
			return ErrHost
		}
	case hpack.Path:
		if len(v) > d.c.cfg.Target {
			return ErrTargetTooLong
		}
		if len(v) == 0 || v[0] != '/' && string(v) != "*" || !bytesconv.IsTarget(v) {
			return ErrPath
		}
	case hpack.Protocol:
		if !d.c.cfg.ExtendedConnect || !bytesconv.IsToken(v) {
			return ErrPseudo
		}
	}
	return nil
}
