package h2

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// opening is the encoded form of the fields that most responses of a second share:
// :status, server, date and content-type, then content-length. It is stored so that
// it can be sent again. It consists of indexes into the encoder's table, so it is
// valid only as long as the table doesn't change:
//
//	valid && generation == that of the encoder  =>  text[:prefix] represents the other fields
//	text[prefix:] represents content-length: length; it is empty if length is -1
type opening struct {
	status    int
	date      *[head.DateLen]byte // nil if there is none
	values    []byte              // server, then content-type; empty for none; as they are given, copies
	serverLen int

	text       []byte
	prefix     int
	length     int64
	generation uint32
	valid      bool
	uses       uint8 // how often these fields were encoded, up to 2
}

func (o *opening) server() []byte      { return o.values[:o.serverLen] }
func (o *opening) contentType() []byte { return o.values[o.serverLen:] }

// keepOpening is the maximum capacity in bytes that is kept for each text of an
// opening.
const keepOpening = 256

// openingFields are the fields of an opening.
type openingFields struct {
	status              int
	date                *[head.DateLen]byte
	server, contentType string
}

// openingOf returns the fields of r, which must not have records of them. The
// strings are not copies, and are not cleaned.
func openingOf(r *head.Response, by *head.Sender) (f openingFields) {
	f.status = statusOf(r.Status)
	if r.Implied&head.NoDate == 0 {
		f.date = by.Date
	}
	f.server = by.Server
	if r.Implied&head.ServerSlot != 0 {
		f.server = bytesconv.B2S(r.Slot(msg.Server))
	}
	switch {
	case r.Implied&head.TypeSlot != 0:
		f.contentType = bytesconv.B2S(r.Slot(msg.ContentType))
	case r.ImpliesType():
		f.contentType = head.DefaultResponseType
	}
	return f
}

// statusOf returns the code that is sent: a code that doesn't have three digits
// becomes 500.
func statusOf(status int) int {
	switch {
	case status == 0:
		return 200
	case status < 100 || status > 999:
		return 500
	}
	return status
}

// appendOpening appends the encoded form of f and length. A length of -1 means
// none.
func (c *Conn) appendOpening(dst []byte, f *openingFields, length int64) []byte {
	o := &c.coding.opening
	same := o.status == f.status && o.date == f.date && string(o.server()) == f.server && string(o.contentType()) == f.contentType
	if !same {
		o.status, o.date, o.uses = f.status, f.date, 0
		o.values = append(append(o.values[:0], f.server...), f.contentType...)
		o.serverLen = len(f.server)
	}
	if !same || !o.valid || o.generation != c.coding.enc.Generation() {
		c.makeOpening(o)
	}
	if o.length != length {
		o.text = c.appendLength(o.text[:o.prefix], length)
		o.length = length
	}
	dst = append(dst, o.text...)
	if len(o.text)+len(o.values) > keepOpening {
		*o = opening{}
	}
	return dst
}

// makeOpening encodes the fields. It is called up to three times: the encoder
// indexes some fields only when they come again, and then their encoded form
// becomes shorter.
func (c *Conn) makeOpening(o *opening) {
	enc := &c.coding.enc
	before := enc.Generation()
	b := enc.AppendStatus(o.text[:0], o.status)
	b = c.appendText(b, msg.Server, o.server())
	if o.date != nil {
		b = enc.AppendField(b, msg.Date, nil, o.date[:], hpack.Auto)
	}
	b = c.appendText(b, msg.ContentType, o.contentType())
	o.text, o.prefix, o.length = b, len(b), -1
	o.generation = enc.Generation()
	o.valid = o.generation == before && o.uses >= 2
	o.uses = min(o.uses+1, 2)
}

// appendText appends a field whose value wasn't cleaned yet, or nothing if the
// value is empty.
func (c *Conn) appendText(dst []byte, id msg.ID, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	return c.coding.enc.AppendField(dst, id, nil, c.clean(value), hpack.Auto)
}

// appendLength appends content-length, or nothing if n is negative.
func (c *Conn) appendLength(dst []byte, n int64) []byte {
	if n < 0 {
		return dst
	}
	var buf [20]byte
	return c.coding.enc.AppendField(dst, msg.ContentLength, nil, bytesconv.AppendInt(buf[:0], n), hpack.Once)
}
