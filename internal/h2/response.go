package h2

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// responsePlaced are the fields that aren't written in the order of the records:
// they have a place of their own, or don't exist in HTTP/2.
const responsePlaced = openingIDs | responseFramed | connectionFields | 1<<msg.Te | head.TrailerBit

const (
	openingIDs     uint64 = 1<<msg.Server | 1<<msg.Date | 1<<msg.ContentType
	responseFramed uint64 = 1<<msg.ContentLength | 1<<msg.TransferEncoding
)

// AppendHead appends the head of the final response, in one HEADERS frame and
// perhaps CONTINUATION frames. end says that there is no body and no trailer
// section: END_STREAM is set. The fields are those that h1.AppendResponseHead
// writes, without the connection-specific ones (RFC 9113 section 8.2.2). A Priority
// field sets the priority of the stream (RFC 9218 section 8). It must be called
// once for a stream.
func (c *Conn) AppendHead(out []byte, st *Stream, r *head.Response, by head.Sender, end bool) []byte {
	if st.state&(wasReset|ended) != 0 {
		return out
	}
	r.Verify()
	from := len(out)
	out = c.coding.enc.Begin(appendFrameHeader(out, 0, frameHeaders, 0, 0))
	out = c.appendResponse(out, r, &by)
	flags := uint8(flagEndHeaders)
	if end {
		flags |= flagEndStream
		c.sentEnd(st)
	}
	if i := r.Find(msg.Priority); i >= 0 {
		p := st.prio
		for ; i >= 0; i = r.Next(i) {
			p = ParsePriority(p, r.Value(i))
		}
		c.turns.setPriority(st, p)
	}
	return endBlock(out, from, st.id, flags)
}

// appendResponse appends the field block of a response.
func (c *Conn) appendResponse(out []byte, r *head.Response, by *head.Sender) []byte {
	length, ok := r.Length(by.ZeroLength)
	if !ok {
		length = -1
	}
	seen := r.Seen()
	f := openingOf(r, by)
	if seen&openingIDs == 0 {
		out = c.appendOpening(out, &f, length)
	} else {
		out = c.appendPlaced(out, r, &f)
		out = c.appendLength(out, length)
	}
	if r.Status == 304 && seen&(1<<msg.ContentLength) != 0 { // RFC 9110 section 15.4.5
		out = c.appendKnown(out, &r.Fields, msg.ContentLength)
	}
	if len(r.Recs) == 0 {
		return out
	}
	out = c.appendFields(out, &r.Fields, responsePlaced)
	if seen&head.TrailerBit != 0 {
		names := r.Trailers.Announced(&r.Fields, r.ContentLength == msg.LenChunked, r.Spelling)
		out = c.appendText(out, msg.Trailer, names)
	}
	return out
}

// appendPlaced appends the fields of an opening, some of which are records.
func (c *Conn) appendPlaced(out []byte, r *head.Response, f *openingFields) []byte {
	enc := &c.coding.enc
	out = enc.AppendStatus(out, f.status)
	if r.Implied&head.ServerSlot == 0 && r.Has(msg.Server) {
		out = c.appendKnown(out, &r.Fields, msg.Server)
	} else {
		out = c.appendText(out, msg.Server, bytesconv.S2B(f.server))
	}
	if r.Has(msg.Date) {
		out = c.appendKnown(out, &r.Fields, msg.Date)
	} else if f.date != nil {
		out = enc.AppendField(out, msg.Date, nil, f.date[:], hpack.Auto)
	}
	if f.contentType != "" {
		return c.appendText(out, msg.ContentType, bytesconv.S2B(f.contentType))
	}
	return c.appendKnown(out, &r.Fields, msg.ContentType)
}

// appendKnown appends the fields with a known name.
func (c *Conn) appendKnown(out []byte, f *msg.Fields, id msg.ID) []byte {
	for i := f.Find(id); i >= 0; i = f.Next(i) {
		out = c.coding.enc.AppendField(out, id, nil, c.clean(f.Value(i)), hpack.Auto)
	}
	return out
}

// appendFields appends the records in order, except those that have an id in skip.
func (c *Conn) appendFields(out []byte, f *msg.Fields, skip uint64) []byte {
	for i := range f.Recs {
		r := &f.Recs[i]
		if r.Flags&(msg.Dead|msg.Unsent) != 0 || skip>>r.ID&1 != 0 {
			continue
		}
		var name []byte
		if r.ID == msg.Unknown {
			if name = c.lowerName(f.RawName(i)); name == nil {
				continue
			}
		}
		out = c.coding.enc.AppendField(out, r.ID, name, c.clean(f.Value(i)), hpack.Auto)
	}
	return out
}

// lowerName returns name as HTTP/2 spells it, valid until the next call, or nil if
// it can't be sent.
func (c *Conn) lowerName(name []byte) []byte {
	b := bytesconv.AppendLower(c.coding.name[:0], name)
	if cap(b) <= keepName {
		c.coding.name = b[:0]
	}
	if !validName(b) {
		return nil
	}
	return b
}

// clean returns a value in the form in which it may be sent: without whitespace at
// its ends (RFC 9113 section 8.2.1), and with spaces instead of control characters.
// It is valid until the next call.
func (c *Conn) clean(v []byte) []byte {
	v = bytesconv.TrimOWS(v)
	if bytesconv.IsText(v) {
		return v
	}
	b := append([]byte(nil), v...) // rare: setters have already done this
	bytesconv.NeutralizeText(b)
	return bytesconv.TrimOWS(b)
}

// endBlock writes the header of the frame that begins at from, and splits the frame
// if it is too long.
func endBlock(out []byte, from int, stream uint32, flags uint8) []byte {
	length := len(out) - from - frameHeaderLen
	if length <= maxFrame {
		setFrameHeader(out[from:], length, frameHeaders, flags, stream)
		return out
	}
	block := append([]byte(nil), out[from+frameHeaderLen:]...)
	setFrameHeader(out[from:], maxFrame, frameHeaders, flags&^flagEndHeaders, stream)
	out = out[:from+frameHeaderLen+maxFrame]
	for block = block[maxFrame:]; len(block) > 0; {
		n := min(len(block), maxFrame)
		last := uint8(0)
		if n == len(block) {
			last = flagEndHeaders
		}
		out = append(appendFrameHeader(out, n, frameContinuation, last, stream), block[:n]...)
		block = block[n:]
	}
	return out
}

// AppendInterim appends an informational response (RFC 9110 section 15.2), before
// the final one. status must be 100 to 199, but not 101. The fields are the records
// of r, which may be nil.
func (c *Conn) AppendInterim(out []byte, st *Stream, status int, r *head.Response) []byte {
	if st.state&(wasReset|ended) != 0 {
		return out
	}
	from := len(out)
	out = c.coding.enc.Begin(appendFrameHeader(out, 0, frameHeaders, 0, 0))
	out = c.coding.enc.AppendStatus(out, status)
	if r != nil {
		r.Verify()
		out = c.appendFields(out, &r.Fields, responsePlaced&^openingIDs)
	}
	return endBlock(out, from, st.id, flagEndHeaders)
}

// AppendTrailers appends a trailer section, which ends this side of the stream. Without
// fields to send it is an empty DATA frame with END_STREAM.
func (c *Conn) AppendTrailers(out []byte, st *Stream, t *head.Trailers) []byte {
	if st.state&(wasReset|ended) != 0 {
		return out
	}
	received, set := t.Fields()
	if set == nil || received.Len()+set.Len() == 0 {
		out, _ = c.AppendDataHeader(out, st, 0, true)
		return out
	}
	from := len(out)
	out = c.coding.enc.Begin(appendFrameHeader(out, 0, frameHeaders, 0, 0))
	out = c.appendFields(out, received, responsePlaced&^openingIDs)
	out = c.appendFields(out, set, responsePlaced&^openingIDs)
	c.sentEnd(st)
	return endBlock(out, from, st.id, flagEndHeaders|flagEndStream)
}
