package hpack

// literal decodes a field that isn't an entry of a table (RFC 7541 section 6.2);
// see Next.
func (d *Decoder) literal(dst []byte, f *Field) ([]byte, error) {
	start := len(dst)
	l, err := d.parseLiteral()
	if err != nil {
		return dst, d.fail(err)
	}
	*f = Field{NameOff: uint32(start), Never: l.never}
	if dst, err = d.appendLiteralName(dst, &l, f); err != nil {
		return dst, d.fail(err)
	}
	mid := len(dst)
	if dst, err = l.value.appendTo(dst); err != nil {
		return dst[:start], d.fail(err)
	}
	f.NameLen, f.ValOff, f.ValLen = uint32(mid-start), uint32(mid), uint32(len(dst)-mid)
	d.last = nil
	if l.indexed {
		d.addEntry(dst[start:mid], dst[mid:], f)
	}
	return dst, nil
}

// addEntry adds a field to the table.
func (d *Decoder) addEntry(name, value []byte, f *Field) {
	if d.last = d.table.add(name, value); d.last != nil {
		d.last.id, d.last.pseudo = f.ID, f.Pseudo
	}
}

// literal is a literal field representation before its strings are decoded.
type literal struct {
	index       uint32 // of the entry with the name; 0: the name is in name
	name, value str
	indexed     bool // it becomes an entry
	never       bool
}

// parseLiteral takes a literal from d.rest. On success its index is in the tables.
func (d *Decoder) parseLiteral() (l literal, err error) {
	b := d.rest
	var n int
	switch c := b[0]; {
	case c >= 0x40:
		l.indexed = true
		l.index, n, err = parseInteger(b, 0x3f)
	case c >= 0x20:
		return l, ErrSizeUpdate // a size update after a field
	default:
		l.never = c >= 0x10
		l.index, n, err = parseInteger(b, 0x0f)
	}
	if err != nil {
		return l, err
	}
	if l.index > numStatic && !d.table.has(d.table.number(l.index)) {
		return l, ErrIndex
	}
	b = b[n:]
	if l.index == 0 {
		if l.name, b, err = parseString(b); err != nil {
			return l, err
		}
	}
	l.value, d.rest, err = parseString(b)
	return l, err
}

// appendLiteralName appends the name of l, and sets the members of f for it.
func (d *Decoder) appendLiteralName(dst []byte, l *literal, f *Field) ([]byte, error) {
	switch {
	case l.index == 0:
		start := len(dst)
		dst, err := l.name.appendTo(dst)
		f.ID, f.Pseudo = identify(dst[start:])
		return dst, err
	case l.index <= numStatic:
		s := &static[l.index]
		f.ID, f.Pseudo = s.id, s.pseudo
		return append(dst, s.name()...), nil
	default:
		e := d.table.at(d.table.number(l.index))
		f.ID, f.Pseudo = e.id, e.pseudo
		return d.table.appendName(dst, e), nil
	}
}

// str is a string literal (RFC 7541 section 5.2).
type str struct {
	bytes   []byte
	huffman bool
}

// parseString takes a string literal from the front of b.
func parseString(b []byte) (s str, rest []byte, err error) {
	if len(b) == 0 {
		return s, nil, ErrTruncated
	}
	size, n, err := parseInteger(b, 0x7f)
	if err != nil {
		return s, nil, err
	}
	s.huffman = b[0] >= 0x80
	b = b[n:]
	if int(size) > len(b) {
		return s, nil, ErrTruncated
	}
	s.bytes = b[:size]
	return s, b[size:], nil
}

// appendTo appends the string.
func (s *str) appendTo(dst []byte) ([]byte, error) {
	if s.huffman {
		return appendHuffmanDecoded(dst, s.bytes)
	}
	return append(dst, s.bytes...), nil
}
