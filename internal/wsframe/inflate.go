package wsframe

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/flate"

	"github.com/galehttp/gale/internal/pool"
)

// inflateTail follows a message when it is inflated: the end of its last block, which isn't
// sent (RFC 7692 section 7.2.2), and an empty final block, so that the decoder ends.
const inflateTail = "\x00\x00\xff\xff\x01\x00\x00\xff\xff"

const (
	// minRoom is the smallest room in bytes that the decoder gets.
	minRoom = 512

	// maxFirstRoom limits how much room is made at first for what a message may become.
	maxFirstRoom = 64 << 10

	// maxCopied is the length in bytes up to which a message is copied, so that its tail
	// follows it in memory. The decoder is faster then.
	maxCopied = 64 << 10

	// finalFree and finalBytes limit how many final blocks a message may have (RFC 7692
	// section 7.2.3.5): finalFree, and one more for each finalBytes. Each costs as much time
	// as inflating a hundred bytes, so that many empty ones would be an attack.
	finalFree  = 16
	finalBytes = 256
)

// Inflater inflates the messages that one side of a connection receives (RFC 7692). It has
// no memory of its own except, with takeover, the end of the messages before. It isn't
// safe for concurrent use.
type Inflater struct{ window window }

// NewInflater returns what inflates the messages of the other side after a negotiation.
func NewInflater(d Deflate, client bool) Inflater {
	takeover, bits := !d.ClientNoTakeover, d.ClientBits
	if client {
		takeover, bits = !d.ServerNoTakeover, d.ServerBits
	}
	var i Inflater
	if takeover {
		i.window.size = 1 << windowBits(bits)
	}
	return i
}

// Append inflates a whole message, appends the result to dst and returns the extended dst.
// If limit is above 0 and the result is longer, it stops with an error of [CodeTooBig]. If
// the data is broken, the code is [CodeInvalidData]. Memory grows with the result only.
// After an error dst is returned as it was, and the connection must fail. compressed and
// dst must not overlap.
func (i *Inflater) Append(dst, compressed []byte, limit int64) ([]byte, error) {
	return i.inflate(dst, compressed, limit, nil)
}

// AppendTo is Append to a pooled buffer: it grows with the memory of pools.
func (i *Inflater) AppendTo(b *pool.Buf, compressed []byte, limit int64) error {
	out, err := i.inflate(b.B, compressed, limit, b)
	b.B = out
	return err
}

// Free gives the memory of i back. i must not be used afterwards.
func (i *Inflater) Free() { i.window.free() }

// inflate is Append. If own isn't nil, dst is its memory.
func (i *Inflater) inflate(dst, compressed []byte, limit int64, own *pool.Buf) ([]byte, error) {
	if len(compressed) == 0 {
		return dst, nil // an empty message should have one byte, but nothing else can be meant
	}
	z := acquireInflate(compressed)
	defer z.release()
	start := len(dst)
	dst = firstRoom(dst, len(compressed), limit, own)
	dict := i.window.bytes()
	for finals := finalFree + len(compressed)/finalBytes; ; finals-- {
		if err := z.dec.(flate.Resetter).Reset(z.src, dict); err != nil {
			return dst[:start], errInflate
		}
		from := len(dst)
		var err error
		if dst, err = z.read(dst, start, limit, own); err != nil {
			return dst[:start], err
		}
		i.window.add(dst[from:])
		switch rest := z.src.Len(); {
		case rest == 0 || rest == len(inflateTail):
			// The second is the end of a message whose last block is final, without the empty
			// block that should follow it.
			return dst, nil
		case rest < len(inflateTail) || finals == 0:
			return dst[:start], errInflate
		}
		// A final block. The next one may still refer to what precedes it.
		if dict = i.window.bytes(); i.window.size == 0 {
			dict = dst[max(start, len(dst)-1<<maxBits):]
		}
	}
}

// inflateSource is what a decoder reads from.
type inflateSource interface {
	flate.Reader
	Len() int
}

// inflater is the state of a decoder.
type inflater struct {
	dec    io.ReadCloser
	src    inflateSource // memory, parts or a stream
	memory bytes.Reader
	parts  parts
	copied *pool.Buf
}

// inflaters holds idle decoders.
var inflaters pool.Pool

// idleInflater returns a decoder, which needs a source and must be Reset.
func idleInflater() *inflater {
	if v := inflaters.Get(); v != nil {
		return v.(*inflater)
	}
	z := new(inflater)
	z.dec = flate.NewReader(&z.memory)
	return z
}

// acquireInflate returns a decoder for a message, which must be Reset.
func acquireInflate(compressed []byte) *inflater {
	z := idleInflater()
	if len(compressed) > maxCopied {
		z.parts = parts{compressed, inflateTail}
		z.src = &z.parts
		return z
	}
	z.copied = pool.Get(len(compressed) + len(inflateTail))
	z.copied.B = append(append(z.copied.B, compressed...), inflateTail...)
	z.memory.Reset(z.copied.B)
	z.src = &z.memory
	return z
}

// release gives z back, and makes the decoder forget its source. The Reset of the next use
// forgets what it inflated.
func (z *inflater) release() {
	z.memory.Reset(nil)
	if z.src != inflateSource(&z.memory) && z.src != inflateSource(&z.parts) {
		_ = z.dec.(flate.Resetter).Reset(&z.memory, nil)
	}
	z.src = nil
	z.parts = parts{}
	pool.Put(z.copied)
	z.copied = nil
	inflaters.Put(z)
}

// read inflates to dst until the end of a final block. The message begins at dst[start].
func (z *inflater) read(dst []byte, start int, limit int64, own *pool.Buf) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = makeRoom(dst, len(dst)-start, start, limit, own)
		}
		n, err := z.dec.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case limit > 0 && int64(len(dst)-start) > limit:
			return dst, errTooBig
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return dst, errInflate
		}
	}
}

// firstRoom returns dst with room for what a message of n bytes may become.
func firstRoom(dst []byte, n int, limit int64, own *pool.Buf) []byte {
	room := min(4*n, maxFirstRoom)
	if cap(dst)-len(dst) >= room {
		return dst
	}
	return makeRoom(dst, room, len(dst), limit, own)
}

// makeRoom returns dst with room for more bytes, but not for more than the first one
// beyond the limit.
func makeRoom(dst []byte, more, start int, limit int64, own *pool.Buf) []byte {
	more = max(more, minRoom)
	if limit > 0 {
		if left := limit - int64(len(dst)-start); int64(more) > left {
			more = int(left) + 1
		}
	}
	if own != nil {
		own.B = dst
		own.Grow(more)
		return own.B
	}
	grown := make([]byte, len(dst), len(dst)+more)
	copy(grown, dst)
	return grown
}

// parts reads a message and its tail where they are.
type parts struct {
	b    []byte
	tail string
}

// Len returns how many bytes weren't read.
func (p *parts) Len() int { return len(p.b) + len(p.tail) }

// next moves on to the tail.
func (p *parts) next() bool {
	if len(p.b) == 0 {
		p.b, p.tail = []byte(p.tail), ""
	}
	return len(p.b) > 0
}

// Read reads bytes.
func (p *parts) Read(b []byte) (int, error) {
	if !p.next() {
		return 0, io.EOF
	}
	n := copy(b, p.b)
	p.b = p.b[n:]
	return n, nil
}

// ReadByte reads one byte.
func (p *parts) ReadByte() (byte, error) {
	if !p.next() {
		return 0, io.EOF
	}
	c := p.b[0]
	p.b = p.b[1:]
	return c, nil
}
