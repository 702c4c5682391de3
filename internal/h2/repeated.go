package h2

import "github.com/galehttp/gale/internal/head"

// Repeated is the encoded head of a request that a client sends again and again on one
// connection. It consists mostly of indexes into the encoder's table, so that a request is
// a copy of a few bytes for the client and few lookups for the server. The zero value is
// ready for use. It is used with one connection and one request: after BeginClient, also of
// the same Conn, the indexes mean other fields, and Reset must be called first.
type Repeated struct {
	// valid && generation == that of the encoder  =>  text represents the head
	text       []byte
	generation uint32
	valid      bool
	isHead     bool
	uses       uint8 // how often the head was encoded, up to 2
}

// Reset makes rep ready for another connection or another request. It keeps memory.
func (rep *Repeated) Reset() { *rep = Repeated{text: rep.text[:0]} }

// AppendRepeated is AppendRequest for a request that is always the same: r and scheme must
// not change as long as rep is used.
func (c *Conn) AppendRepeated(out []byte, rep *Repeated, r *head.Request, scheme string, end bool) (_ []byte, st *Stream, err error) {
	if rep.uses == 0 {
		r.Verify()
		if err := checkRequest(r); err != nil {
			return out, nil, err
		}
		rep.isHead = isHead(r)
	}
	if out, st, err = c.open(out); err != nil {
		return out, nil, err
	}
	from := len(out)
	out = c.coding.enc.Begin(appendFrameHeader(out, 0, frameHeaders, 0, 0))
	if !rep.valid || rep.generation != c.coding.enc.Generation() {
		c.encodeRepeated(rep, r, scheme)
	}
	return c.endRequest(append(out, rep.text...), from, st, rep.isHead, end), st, nil
}

// encodeRepeated encodes the head. Without other changes of the table it is called up to
// three times: see makeOpening.
func (c *Conn) encodeRepeated(rep *Repeated, r *head.Request, scheme string) {
	before := c.coding.enc.Generation()
	rep.text = c.appendRequest(rep.text[:0], r, scheme)
	rep.generation = c.coding.enc.Generation()
	rep.valid = rep.generation == before && rep.uses >= 2
	rep.uses = min(rep.uses+1, 2)
}
