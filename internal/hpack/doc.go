// Package hpack compresses and decompresses field sections as RFC 7541 says: bytes in,
// bytes out. It does no I/O, reads no clock, starts nothing and has no locks.
//
// A Decoder serves one direction of one connection. Each field block is whole:
//
//	if err := d.Begin(block); err != nil { ... }
//	for d.More() {
//		if arena, err = d.Next(arena, &f); err != nil { ... }
//		// the name is arena[f.NameOff:][:f.NameLen], the value arena[f.ValOff:][:f.ValLen]
//	}
//
// Limits on what a block may decode to are the caller's. It may stop storing at any field
// and call Skip, which reads the rest of the block so that the dynamic table stays in
// step with the peer's.
//
// An Encoder serves the other direction:
//
//	dst = e.Begin(dst)
//	dst = e.AppendStatus(dst, 200)
//	dst = e.AppendField(dst, msg.ContentType, nil, value, hpack.Auto)
//
// Neither checks names and values: RFC 9113 section 8.2 is the caller's matter. An error
// is always an *Error. It means that the two tables differ from then on, so that the
// connection must end with COMPRESSION_ERROR (RFC 9113 section 4.3).
//
// Memory: a table takes at most twice its size (RFC 7541 section 4.1) or 384 bytes,
// whichever is more, and only as entries arrive. Nothing else is kept between blocks.
package hpack
