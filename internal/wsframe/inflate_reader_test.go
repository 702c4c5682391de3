package wsframe

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// readMessage inflates a message by a MessageReader that gets and gives the bytes in parts.
func readMessage(i *Inflater, in []byte, limit int64, wrap func(io.Reader) io.Reader, room int) ([]byte, error) {
	r := i.NewReader(wrap(bytes.NewReader(in)), limit)
	defer r.Close()
	var out []byte
	b := make([]byte, room)
	for {
		n, err := r.Read(b)
		out = append(out, b[:n]...)
		if err != nil {
			if _, again := r.Read(b); again != err {
				return out, errors.New("another error follows the first")
			}
			if err == io.EOF {
				return out, nil
			}
			return out, err
		}
		if n == 0 {
			return out, io.ErrNoProgress
		}
	}
}

var wraps = []func(io.Reader) io.Reader{
	func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader,
}

// FuzzInflate proves that Append and a MessageReader give the same for all input, with and
// without takeover.
func FuzzInflate(f *testing.F) {
	z := NewDeflater(Deflate{}, false, 1)
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		f.Add(z.Append(nil, jsonText(1, n)), uint16(n), true)
	}
	f.Add([]byte{}, uint16(0), false)
	f.Add([]byte("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), uint16(5), false)
	f.Add([]byte("\xf3\x48\xcd\xc9\xc9\x07\x00\xf3\x48\xcd\xc9\xc9\x07\x00"), uint16(0), true)
	f.Add(bytes.Repeat([]byte("\x03\x00"), 50), uint16(0), false)
	f.Fuzz(func(t *testing.T, in []byte, limit uint16, takeover bool) {
		d := Deflate{ClientNoTakeover: !takeover}
		whole := NewInflater(d, false)
		var want [2][]byte
		var fails [2]error
		for n := range want {
			want[n], fails[n] = whole.Append(nil, in, int64(limit))
			if int64(len(want[n])) > int64(limit) && limit > 0 || fails[n] != nil && len(want[n]) > 0 {
				t.Fatalf("%d bytes, limit %d, %v", len(want[n]), limit, fails[n])
			}
			if fails[n] != nil {
				break
			}
		}
		whole.Free()
		for _, wrap := range wraps {
			i := NewInflater(d, false)
			for n := range want {
				got, err := readMessage(&i, in, int64(limit), wrap, 1+len(in)%700)
				if len(in) >= finalBytes && (err == errInflate || fails[n] == errInflate) {
					break // how many final blocks are allowed may depend on what has arrived
				}
				if (err == nil) != (fails[n] == nil) || err == nil && !bytes.Equal(got, want[n]) {
					t.Fatalf("message %d: %q, %v; in parts %q, %v", n, want[n], fails[n], got, err)
				}
				if err != nil {
					break
				}
			}
			i.Free()
		}
	})
}

// TestMessageReader has what FuzzInflate doesn't: long messages, several on a connection,
// errors of the source, limits.
func TestMessageReader(t *testing.T) {
	broken := errors.New("connection lost")
	for _, takeover := range []bool{false, true} {
		d := Deflate{ServerNoTakeover: !takeover}
		z := NewDeflater(d, false, 6)
		i := NewInflater(d, true)
		for n, msg := range deflateMessages() {
			in := z.Append(nil, msg)
			var got []byte
			var err error
			if n%3 == 0 {
				got, err = i.Append(nil, in, 0)
			} else {
				got, err = readMessage(&i, in, int64(len(msg)), wraps[n%len(wraps)], 3000)
			}
			if err != nil || !bytes.Equal(got, msg) {
				t.Fatalf("takeover %v, message %d of %d bytes: %d bytes, %v", takeover, n, len(msg), len(got), err)
			}
		}

		msg := jsonText(9, 50000)
		in := z.Append(nil, msg)
		fresh := NewInflater(d, true)
		if _, err := readMessage(&fresh, []byte("\x06\xff"), 0, wraps[0], 10); err != errInflate {
			t.Errorf("broken data: %v", err)
		}
		got, err := readMessage(&fresh, in, 0, func(r io.Reader) io.Reader {
			return io.MultiReader(io.LimitReader(r, 1000), iotest.ErrReader(broken))
		}, 100)
		if err != broken || (!takeover && !bytes.HasPrefix(msg, got)) {
			t.Errorf("a source that fails: %v", err)
		}
		if !takeover {
			for _, limit := range []int64{1, 49999} {
				got, err := readMessage(&i, in, limit, wraps[0], 4096)
				if err != errTooBig || !bytes.Equal(got, msg[:limit]) {
					t.Errorf("limit %d: %d bytes, %v", limit, len(got), err)
				}
			}
		}
		r := i.NewReader(bytes.NewReader(in), 0)
		_, _ = r.Read(make([]byte, 10))
		_ = r.Close()
		_ = r.Close()
		if _, err := r.Read(make([]byte, 10)); err != io.ErrClosedPipe {
			t.Errorf("after Close: %v", err)
		}
		i.Free()
		z.Free()
	}
}
