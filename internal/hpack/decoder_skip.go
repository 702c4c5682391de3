package hpack

// Skip decodes the rest of the block only to update the table. It uses scratch for
// fields that enter the table and returns it, perhaps longer and with other
// contents. Its errors are those of Next.
//
// Two bytes of the block may add an entry with the name of another entry, and so
// copy as many bytes as the table holds. Everything else takes time in proportion
// to the length of the block.
func (d *Decoder) Skip(scratch []byte) ([]byte, error) {
	var f Field
	for d.More() {
		var err error
		if d.rest[0] >= 0x80 {
			err = d.skipIndexed()
		} else {
			scratch, err = d.literal(scratch[:0], &f)
		}
		if err != nil {
			return scratch, d.fail(err)
		}
	}
	return scratch, nil
}

func (d *Decoder) skipIndexed() error {
	index, n, err := parseInteger(d.rest, 0x7f)
	if err != nil {
		return err
	}
	if index == 0 || index > numStatic && !d.table.has(d.table.number(index)) {
		return ErrIndex
	}
	d.rest, d.last = d.rest[n:], nil
	return nil
}
