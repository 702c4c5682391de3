package h2

import "github.com/galehttp/gale/internal/hpack"

// coding is the compression of field sections, in both directions.
type coding struct {
	dec     hpack.Decoder
	enc     hpack.Encoder
	opening opening
	name    []byte // a name in lower case
	scratch []byte // fields that are skipped
}

// drop forgets the connection but keeps memory.
func (cd *coding) drop() {
	cd.dec.Reset()
	cd.enc.Reset()
	cd.opening = opening{text: cd.opening.text[:0], values: cd.opening.values[:0]}
}

// rest gives back the memory that an idle connection doesn't need.
func (cd *coding) rest() {
	cd.scratch, cd.name = nil, nil
}

// keepName is how much memory is kept for spelling names.
const keepName = 64

// keepScratch is how much memory is kept for skipping fields.
const keepScratch = 4 << 10

// skipRest decodes the rest of a block only to update the table. It returns err, or
// ErrCompression if the connection has failed.
func (c *Conn) skipRest(err *Error) *Error {
	scratch, bad := c.coding.dec.Skip(c.coding.scratch[:0])
	if c.coding.scratch = scratch; cap(scratch) > keepScratch {
		c.coding.scratch = nil
	}
	if bad != nil {
		return c.failCompression()
	}
	return err
}

func (c *Conn) failCompression() *Error {
	c.fail(CompressionError)
	return ErrCompression
}

// skipBlock decodes a block only to update the table. It returns false if the
// connection has failed.
func (c *Conn) skipBlock(block []byte) bool {
	if c.coding.dec.Begin(block) != nil {
		c.failCompression()
		return false
	}
	return c.skipRest(nil) == nil
}
