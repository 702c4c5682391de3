// Package hpack compresses and decompresses field sections of HTTP/2 (RFC 7541):
// bytes in, bytes out. It does no I/O, reads no clock, and has no goroutines and no
// locks.
//
// A Decoder serves one direction of one connection. It gets whole field blocks:
//
//	if err := d.Begin(block); err != nil { ... }
//	for d.More() {
//		if arena, err = d.Next(arena, &f); err != nil { ... }
//		// the name is arena[f.NameOff:][:f.NameLen], the value arena[f.ValOff:][:f.ValLen]
//	}
//
// The caller must limit the size of the decoded fields. It may stop at any field
// and call Skip, which reads the rest of the block so that the dynamic table stays
// the same as the peer's.
//
// An Encoder serves the other direction:
//
//	dst = e.Begin(dst)
//	dst = e.AppendStatus(dst, 200)
//	dst = e.AppendField(dst, msg.ContentType, nil, value, hpack.Auto)
//
// Neither checks names and values: the caller must do that (RFC 9113 section 8.2).
// An error is always an *Error. It means that the tables of both sides differ from
// then on, so the connection must end with COMPRESSION_ERROR (RFC 9113 section
// 4.3).
//
// Memory: a table uses at most twice its size (RFC 7541 section 4.1) or 384 bytes,
// whichever is more. It grows as entries arrive. Nothing else is kept between
// blocks.
package hpack
