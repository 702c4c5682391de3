package wsframe

import (
	"github.com/klauspost/compress/flate"

	"github.com/galehttp/gale/internal/pool"
)

const (
	// DefaultLevel is the level of compression if none is given.
	DefaultLevel = flate.BestSpeed

	// minWriter is the shortest message in bytes that flate's writers compress; they store
	// shorter ones.
	minWriter = 128

	// minText is the length in bytes from which text becomes shorter without a dictionary.
	minText = 64

	// maxDictionary is how much of a dictionary StatelessDeflate uses, in bytes. A Deflater of
	// level 1 keeps no more: reading a dictionary of 32 KiB takes 37 us for each message, and
	// one of 8 KiB takes a quarter of that and makes JSON of 1 KiB only 8% longer.
	maxDictionary = 8 << 10

	// flushed is the length of what ends each flush, 00 00 ff ff. Messages are sent without
	// it (RFC 7692 section 7.2.1).
	flushed = 4
)

// Deflater compresses the messages that one side of a connection sends (RFC 7692). It has
// no memory of its own except, with takeover, the end of the messages before. It isn't
// safe for concurrent use. Without takeover any Deflater with the same settings gives the
// same result, so one message can be compressed for many connections.
type Deflater struct {
	bits, level uint8
	window      window
}

// NewDeflater returns what compresses the messages of this side after a negotiation.
// level is 1 (fast) to 9 (small); others are [DefaultLevel]. Windows that are smaller than
// 32 KiB have only one level for messages that exceed them.
func NewDeflater(d Deflate, client bool, level int) Deflater {
	takeover, bits := !d.ServerNoTakeover, d.ServerBits
	if client {
		takeover, bits = !d.ClientNoTakeover, d.ClientBits
	}
	if level < flate.BestSpeed || level > flate.BestCompression {
		level = DefaultLevel
	}
	z := Deflater{bits: windowBits(bits), level: uint8(level)}
	if takeover {
		z.window.size = 1 << z.bits
		if level == flate.BestSpeed {
			z.window.size = min(z.window.size, maxDictionary)
		}
	}
	return z
}

// Worth guesses whether a message of n bytes becomes shorter by compression. Those that
// don't should be sent uncompressed. Without takeover, text of less than 64 bytes doesn't,
// unless it repeats itself.
func (d *Deflater) Worth(n int) bool { return n >= minText || d.window.size > 0 && n > 0 }

// Append compresses msg, appends the payload of a compressed message to dst and returns
// the extended dst (RFC 7692 section 7.2.1). With takeover, the peer must get all payloads
// in the order of the calls. msg and dst must not overlap.
func (d *Deflater) Append(dst, msg []byte) []byte {
	if len(msg) == 0 {
		return append(dst, 0) // section 7.2.3.6
	}
	z := acquireDeflate()
	z.out = dst
	size := 1 << d.bits
	dict := d.window.bytes()
	switch {
	case len(msg) < minWriter && len(msg) <= size, len(dict) == 0 && d.level == flate.BestSpeed && (len(msg) <= size || d.bits == maxBits):
		// The distances must not exceed the window, and all of the dictionary is one block with
		// the message.
		n := min(len(dict), maxDictionary, max(size-len(msg), 0))
		_ = flate.StatelessDeflate(z, msg, false, dict[len(dict)-n:])
	case d.bits == maxBits || len(dict)+len(msg) <= size:
		w, _ := writers[d.level].Get().(*flate.Writer)
		if w == nil {
			w = must(flate.NewWriter(nil, int(d.level)))
		}
		z.write(w, dict, msg)
		writers[d.level].Put(w)
	default:
		w, _ := windowWriters[d.bits].Get().(*flate.Writer)
		if w == nil {
			w = must(flate.NewWriterWindow(nil, size))
		}
		z.write(w, dict, msg)
		windowWriters[d.bits].Put(w)
	}
	dst = z.out[:len(z.out)-flushed]
	z.release()
	d.window.add(msg)
	return dst
}

// Free gives the memory of d back. d must not be used afterwards.
func (d *Deflater) Free() { d.window.free() }

// writers holds idle writers by level, windowWriters by the size of their window.
var (
	writers       [flate.BestCompression + 1]pool.Pool
	windowWriters [maxBits]pool.Pool
	deflates      pool.Pool
)

// deflate is the destination of a compressor in memory.
type deflate struct{ out []byte }

func acquireDeflate() *deflate {
	if v := deflates.Get(); v != nil {
		return v.(*deflate)
	}
	return new(deflate)
}

func (z *deflate) release() {
	z.out = nil
	deflates.Put(z)
}

// Write appends p. The error is always nil.
func (z *deflate) Write(p []byte) (int, error) {
	z.out = append(z.out, p...)
	return len(p), nil
}

// write compresses msg with w.
func (z *deflate) write(w *flate.Writer, dict, msg []byte) {
	// ResetDict forgets what w wrote before.
	w.ResetDict(z, dict)
	_, _ = w.Write(msg)
	_ = w.Flush()
}

// must returns v. The error is always nil, because levels and sizes are valid.
func must[T any](v T, err error) T {
	if err != nil {
		panic("wsframe: " + err.Error())
	}
	return v
}
