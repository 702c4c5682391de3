package h1

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/head"
)

// Opening is the text of a response's head up to its length, kept for the next responses
// of the same head.Response: the status line of a 200, Server, Date and Content-Type are
// the same for most responses of a second, and so is the length for many. It is kept by
// Reset, is never shown, and is only compared. If made is the response and by the sender
// for which it was made:
//
//	text == head of made without records
//	     == status line + Server + Date + Content-Type + Content-Length + CRLF
//	text[prefix:] == decimal of length + CRLF + CRLF
//
// The zero value matches no response.
type Opening struct {
	text   []byte
	prefix int
	length int64 // made.ContentLength, >= 0

	implied     head.Implied        // made.Implied
	slotChanges uint64              // made.SlotChanges()
	server      string              // by.Server
	date        *[head.DateLen]byte // by.Date, nil only in the zero value
}

// Whole returns the whole head of r, which has a length, as server sends it at date, if
// the opening is exactly that head; else nil. It is valid until the next call of
// AppendResponseHead.
//
// Everything in a head is compared. Parts and records have bytes in Buf, so len(Buf) == 0
// => there are none. The rest are the numbers of r, and the slots: equal slotChanges =>
// equal slots.
func (o *Opening) Whole(r *head.Response, server string, date *[head.DateLen]byte) []byte {
	if len(r.Buf) == 0 && o.length == r.ContentLength && o.implied == r.Implied &&
		(r.Status == 0 || r.Status == 200) && r.Conn == 0 && r.Minor != 0 &&
		o.date == date && o.slotChanges == r.SlotChanges() &&
		(o.implied&head.ServerSlot != 0 || o.server == server) {
		return o.text
	}
	return nil
}

// of returns the opening of r, a 200 with a length. It makes only the parts anew that
// have changed.
func (o *Opening) of(r *head.Response, by *head.Sender) []byte {
	n := r.ContentLength
	switch {
	case o.implied != r.Implied, o.date != by.Date, o.slotChanges != r.SlotChanges(),
		o.implied&head.ServerSlot == 0 && o.server != by.Server,
		(n == 0) != (o.length == 0): // the default Content-Type depends on that
		o.make(r, by)
	case n != o.length:
		o.setLength(n)
	}
	return o.text
}

func (o *Opening) make(r *head.Response, by *head.Sender) {
	o.implied, o.slotChanges, o.date, o.server = r.Implied, r.SlotChanges(), by.Date, by.Server
	b := append(o.text[:0], "HTTP/1.1 200 OK\r\n"...)
	b = appendLeading(b, r, by)
	o.text = append(b, "Content-Length: "...)
	o.prefix = len(o.text)
	o.setLength(r.ContentLength)
}

func (o *Opening) setLength(n int64) {
	o.length = n
	b := bytesconv.AppendInt(o.text[:o.prefix], n)
	o.text = append(b, "\r\n\r\n"...)
}
