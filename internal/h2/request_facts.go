package h2

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// adopt makes recs the records of the head. The first record is reserved for Host.
func (d *requestDecoder) adopt(recs []msg.Field) *Error {
	h := d.h
	if d.has(hpack.Authority) {
		if len(recs) == 0 {
			recs = append(recs, msg.Field{})
		}
		at := d.spans[hpack.Authority]
		recs[0] = msg.Field{NameOff: uint32(len(textProto)), NameLen: uint16(len(textHost)), ValOff: at.Off, ValLen: at.Len, ID: msg.Host}
	} else if len(recs) > 0 {
		recs = recs[:copy(recs, recs[1:])]
	}
	h.Recs = h.Recs[:0]
	dups := h.Adopt(recs)
	if err := d.requestLine(); err != nil {
		return err
	}
	return d.finish(dups)
}

// requestLine derives the parts of a request line from the pseudo-fields (RFC 9113
// section 8.3.1).
func (d *requestDecoder) requestLine() *Error {
	const need, connect = 1<<hpack.Method | 1<<hpack.Scheme | 1<<hpack.Path, 1<<hpack.Method | 1<<hpack.Authority
	h := d.h
	if !d.has(hpack.Method) {
		return ErrPseudoMissing
	}
	method := d.value(hpack.Method)
	h.MethodID = msg.LookupMethod(method)
	switch {
	case h.MethodID == msg.MethodConnect && d.has(hpack.Protocol): // RFC 8441 section 4
		if d.pseudo&(need|connect) != need|connect {
			return ErrPseudoMissing
		}
	case h.MethodID == msg.MethodConnect: // RFC 9113 section 8.5
		if d.pseudo != connect {
			return ErrPseudo
		}
		return ErrConnect
	case d.has(hpack.Protocol):
		return ErrPseudo
	case d.pseudo&need != need:
		return ErrPseudoMissing
	}
	if d.value(hpack.Path)[0] == '*' {
		if h.MethodID != msg.MethodOptions {
			return ErrPath
		}
		h.Form = msg.FormAsterisk
	}
	h.Parts[msg.Method] = d.spans[hpack.Method]
	h.Parts[msg.Target] = d.spans[hpack.Path]
	h.Parts[msg.Proto] = msg.Span{Len: uint32(len(textProto))}
	return nil
}

// finish checks the fields that concern the message itself, and derives the plain
// data of the head from them. dups has the bits of fields that occur more than
// once.
func (d *requestDecoder) finish(dups uint64) *Error {
	h := d.h
	seen := h.Seen()
	if seen&connectionFields != 0 {
		return ErrConnection
	}
	if err := d.checkHost(dups); err != nil {
		return err
	}
	h.ContentLength = msg.LenChunked
	if d.end {
		h.ContentLength = msg.LenUnknown
	}
	if seen&(1<<msg.ContentLength) != 0 {
		if err := d.takeLength(dups); err != nil {
			return err
		}
	}
	if d.has(hpack.Protocol) {
		h.ContentLength = msg.LenUnknown // DATA is not content (RFC 9110 section 9.3.6)
	}
	if seen&(1<<msg.Te) != 0 {
		var room [4][]byte
		for elem := range bytesconv.Elements(h.AppendValues(room[:0], msg.Te, nil)) {
			if !bytesconv.EqualFoldString(elem, "trailers") {
				return ErrConnection
			}
		}
	}
	if seen&(1<<msg.Expect) != 0 {
		h.Expect = head.Expectation(&h.Fields)
	}
	if dups&(1<<msg.ContentType|1<<msg.Cookie) != 0 {
		d.mergeFields(dups)
	}
	return nil
}

// checkHost makes :authority the Host, or uses Host if there is no :authority. If
// both exist, they must be equal (RFC 9113 section 8.3.1).
func (d *requestDecoder) checkHost(dups uint64) *Error {
	h := d.h
	i := h.Find(msg.Host)
	if i < 0 {
		return ErrHost
	}
	if !d.has(hpack.Authority) {
		if v := h.Value(i); dups&(1<<msg.Host) != 0 || len(v) == 0 || !h1.ValidHost(v) {
			return ErrHost
		}
		return nil
	}
	if dups&(1<<msg.Host) != 0 {
		next := h.Next(i)
		if h.Next(next) >= 0 || !bytesconv.EqualFold(h.Value(next), h.Value(i)) {
			return ErrHost
		}
		h.DelAt(next)
	}
	return nil
}

// takeLength sets the length of the body. Without DATA it can only be 0.
func (d *requestDecoder) takeLength(dups uint64) *Error {
	h := d.h
	n, err := h1.ParseContentLength(h.Peek(msg.ContentLength))
	switch {
	case dups&(1<<msg.ContentLength) != 0, err != nil && err != h1.ErrBodyTooLong, d.end && (err != nil || n != 0):
		return ErrContentLength
	case err != nil:
		return ErrBodyTooLong
	}
	h.ContentLength = n
	return nil
}

// mergeFields joins the crumbs of Cookie to one field (RFC 9113 section 8.2.3), and
// keeps only the first Content-Type, as package h1 does.
func (d *requestDecoder) mergeFields(dups uint64) {
	h := d.h
	if dups&(1<<msg.Cookie) != 0 {
		i := h.Find(msg.Cookie)
		off := len(h.Buf)
		had := cap(h.Buf)
		h.Buf = h.AppendJoined(h.Buf, i, "; ")
		h.Own(had)
		h.Recs[i].ValOff, h.Recs[i].ValLen = uint32(off), uint32(len(h.Buf)-off)
		keepFirst(&h.Fields, msg.Cookie)
	}
	if dups&(1<<msg.ContentType) != 0 {
		keepFirst(&h.Fields, msg.ContentType)
	}
}

// keepFirst deletes all fields with that id except the first one.
func keepFirst(f *msg.Fields, id msg.ID) {
	i := f.Find(id)
	for next := f.Next(i); next >= 0; next = f.Next(next) {
		f.DelAt(next)
	}
}
