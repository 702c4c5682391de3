package hpack

import "github.com/galehttp/gale/internal/msg"

// Decoder decodes the field blocks of one direction of a connection. The zero value
// is ready for use and has a table of DefaultTableSize. It has no lock: only one
// goroutine may use it.
type Decoder struct {
	table table
	rest  []byte // the part of the block that isn't decoded yet
	limit int    // for the table size that the peer may choose
	// lowest is the lowest limit since the last block. If it is below the size of the
	// table, the next block must begin with a size update.
	lowest int
	last   *entry // of the last field, nil if it has none
	err    error  // the first that occurred
	ready  bool   // table, limit and lowest are set
}

// Field is a field line as offsets into the arena that Next appended it to.
type Field struct {
	NameOff, NameLen uint32
	ValOff, ValLen   uint32
	// ID is the ID of the name. A name that isn't in lower case, which is malformed
	// in HTTP/2, is Unknown. So a name with any other ID is valid.
	ID msg.ID
	// Pseudo says which pseudo-header field it is, if the name begins with a colon.
	Pseudo Pseudo
	// Never says that the field must be a never-indexed literal if it is forwarded
	// (RFC 7541 section 6.2.3).
	Never bool
	// Static is the index of the static table's entry, if the whole field is such
	// an entry, or 0. The name and the value of such a field are valid.
	Static uint8
	// Mark is the mark that SetMark gave to the entry of the dynamic table, if the
	// field is such an entry, or 0.
	Mark uint8
}

// span sets the offsets of name and value. Next sets each member separately:
// assigning a whole Field would take twice the time, because Go builds it elsewhere
// and copies it.
func (f *Field) span(off, name, value uint32) {
	f.NameOff, f.NameLen, f.ValOff, f.ValLen = off, name, off+name, value
}

func (d *Decoder) prepare() {
	if !d.ready {
		d.table.max, d.limit, d.lowest, d.ready = DefaultTableSize, DefaultTableSize, DefaultTableSize, true
	}
}

// SetMaxTableSize sets the size that the peer's updates must not exceed, which is
// SETTINGS_HEADER_TABLE_SIZE as the peer has acknowledged it. It must be called
// between blocks. If the table's size is above n, the next block must begin with an
// update.
func (d *Decoder) SetMaxTableSize(n int) {
	d.prepare()
	d.limit = n
	d.lowest = min(d.lowest, n)
}

// Begin starts a field block, which must be whole, and applies the table size
// updates at its start. There may be two of them (RFC 7541 section 4.2). block is
// used until More returns false, and isn't kept. After an error the decoder can't
// be used until Reset.
func (d *Decoder) Begin(block []byte) error {
	d.prepare()
	d.rest, d.last = block, nil
	if d.err != nil {
		d.rest = nil
		return d.err
	}
	if len(block) > 0 && block[0]&0xe0 == 0x20 || d.lowest < d.table.max {
		return d.updates()
	}
	d.lowest = d.limit
	return nil
}

// updates reads the table size updates at the start of a block.
func (d *Decoder) updates() error {
	missing := d.lowest < d.table.max
	for n := 0; len(d.rest) > 0 && d.rest[0]&0xe0 == 0x20; n++ {
		size, used, err := parseInteger(d.rest, 0x1f)
		switch {
		case err != nil:
			return d.fail(err)
		case n == 2 || int(size) > d.limit:
			return d.fail(ErrSizeUpdate)
		}
		d.rest = d.rest[used:]
		d.table.setMax(int(size))
		missing = missing && int(size) > d.lowest
	}
	if missing {
		return d.fail(ErrNoUpdate)
	}
	d.lowest = d.limit
	return nil
}

// More reports whether the block has another field. It is false after an error.
func (d *Decoder) More() bool {
	if len(d.rest) > 0 {
		return true
	}
	d.rest = nil // an idle connection must not keep the buffer
	return false
}

// Next decodes a field. It must be called only if More returns true. It appends
// name and value to dst, one after the other, and describes them in f. It appends
// at most as many bytes as the table's size plus 8/5 of the block's length. After
// an error dst is unchanged, f is undefined, and the decoder can't be used until
// Reset.
func (d *Decoder) Next(dst []byte, f *Field) ([]byte, error) {
	b := d.rest
	if len(b) == 0 {
		return dst, d.fail(ErrTruncated)
	}
	if b[0] < 0x80 {
		return d.literal(dst, f)
	}
	index, n := uint32(b[0]&0x7f), 1
	if index == 0x7f {
		var err error
		if index, n, err = parseLongInteger(b, index); err != nil {
			return dst, d.fail(err)
		}
	}
	d.rest = b[n:]
	off := uint32(len(dst))
	if index > numStatic {
		number := d.table.number(index)
		if !d.table.has(number) {
			return dst, d.fail(ErrIndex)
		}
		e := d.table.at(number)
		d.last = e
		f.span(off, e.nameLen, e.valLen)
		f.ID, f.Pseudo, f.Never, f.Static, f.Mark = e.id, e.pseudo, false, 0, e.mark
		return d.table.appendText(dst, e), nil
	}
	if index == 0 {
		return dst, d.fail(ErrIndex)
	}
	d.last = nil
	s := &static[index]
	name := uint32(s.nameLen)
	f.span(off, name, uint32(len(s.text))-name)
	f.ID, f.Pseudo, f.Never, f.Static, f.Mark = s.id, s.pseudo, false, uint8(index), 0
	return append(dst, s.text...), nil
}

// SetMark stores a mark of the caller with the entry of the dynamic table that the
// last field was. It does nothing if there is no such entry. With it a caller
// needn't validate a field again when the entry is used again.
func (d *Decoder) SetMark(mark uint8) {
	if d.last != nil {
		d.last.mark = mark
	}
}

// fail ends the block, and returns the first error.
func (d *Decoder) fail(err error) error {
	d.rest, d.last = nil, nil
	if d.err == nil {
		d.err = err
	}
	return d.err
}

// Reset makes d ready for another connection, like the zero value. It keeps the
// memory of a table of at most DefaultTableSize, but the entries can't be reached
// any more.
func (d *Decoder) Reset() {
	d.table.empty(DefaultTableSize)
	*d = Decoder{table: d.table}
}
