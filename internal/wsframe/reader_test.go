package wsframe

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

var testKey = [4]byte{0x37, 0xfa, 0x21, 0x3d}

// frame returns one frame with any header, masked for a server.
func frame(first byte, payload string) []byte {
	h := Header{Fin: first&0x80 != 0, Rsv: first >> 4 & 7, Op: Opcode(first & 15), Masked: true, Key: testKey, Length: int64(len(payload))}
	b := AppendHeader(nil, h)
	n := len(b)
	b = append(b, payload...)
	Mask(b[n:], testKey, 0)
	return b
}

// plain is frame for a client.
func plain(first byte, payload string) []byte {
	h := Header{Fin: first&0x80 != 0, Rsv: first >> 4 & 7, Op: Opcode(first & 15), Length: int64(len(payload))}
	return append(AppendHeader(nil, h), payload...)
}

func join(frames ...[]byte) []byte { return bytes.Join(frames, nil) }

// events reads the stream in as it arrives in parts of the given sizes, the last of which
// repeats, and describes what it finds so that the description doesn't depend on the
// parts. land says how many bytes of each frame go to Landed, if they aren't there yet.
func events(c Config, in []byte, sizes []int, land bool) (out []string, err error) {
	var r Reader
	r.Init(c)
	var msg []byte // of the open message
	var f Frame
	have := 0
	in = bytes.Clone(in)
	note := func(last bool, op Opcode, z bool) {
		if last {
			out = append(out, fmt.Sprintf("message op=%d z=%v %q", op, z, msg))
			msg = nil
		}
	}
	open := false
	for {
		if len(sizes) > 0 {
			have += sizes[0]
			if len(sizes) > 1 {
				sizes = sizes[1:]
			}
		} else {
			have = len(in)
		}
		have = min(have, len(in))
		for {
			pending := bytes.Clone(in[:have])
			n, err := r.Next(pending, &f)
			if err != nil {
				if n2, err2 := r.Next(nil, &f); n2 != 0 || err2 != err {
					return out, fmt.Errorf("error %v is followed by %d, %v", err, n2, err2)
				}
				return out, err
			}
			in, have = in[n:], have-n
			switch f.Kind {
			case More:
				if n != 0 {
					return out, fmt.Errorf("More consumes %d bytes", n)
				}
			case Control:
				out = append(out, fmt.Sprintf("control op=%d %q", f.Op, f.Payload))
			case Piece:
				if f.First == open {
					return out, fmt.Errorf("First is %v in the wrong place", f.First)
				}
				if f.FrameEnd != (f.Left == 0) {
					return out, fmt.Errorf("FrameEnd %v with %d left", f.FrameEnd, f.Left)
				}
				open = !f.Last
				msg = append(msg, f.Payload...)
				note(f.Last, f.Op, f.Compressed)
				if n := int(min(f.Left, int64(len(in)))); land && n > 0 {
					b := bytes.Clone(in[:n])
					end, last, err := r.Landed(b)
					if err != nil {
						return out, err
					}
					if end != (int64(n) == f.Left) {
						return out, fmt.Errorf("Landed: end %v after %d of %d", end, n, f.Left)
					}
					open = !last
					msg = append(msg, b...)
					note(last, f.Op, f.Compressed)
					in, have = in[n:], max(have-n, 0)
				}
			}
			if f.Kind == More {
				break
			}
		}
		if have == len(in) {
			return out, nil
		}
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 5000)
	tests := []struct {
		name string
		in   []byte
		want []string
		err  error
	}{
		{"text", frame(0x81, "Hello"), []string{`message op=1 z=false "Hello"`}, nil},
		{"binary", frame(0x82, "\xff\x00"), []string{`message op=2 z=false "\xff\x00"`}, nil},
		{"empty text", frame(0x81, ""), []string{`message op=1 z=false ""`}, nil},
		{"two", join(frame(0x81, "a"), frame(0x82, "b")), []string{`message op=1 z=false "a"`, `message op=2 z=false "b"`}, nil},
		{"126", frame(0x82, long[:126]), []string{fmt.Sprintf("message op=2 z=false %q", long[:126])}, nil},
		{"65535", frame(0x82, long[:65535]), []string{fmt.Sprintf("message op=2 z=false %q", long[:65535])}, nil},
		{"65536", frame(0x81, long[:65536]), []string{fmt.Sprintf("message op=1 z=false %q", long[:65536])}, nil},
		{"fragments", join(frame(0x01, "Hel"), frame(0x00, ""), frame(0x80, "lo")), []string{`message op=1 z=false "Hello"`}, nil},
		{"empty fragments", join(frame(0x01, ""), frame(0x00, ""), frame(0x80, "")), []string{`message op=1 z=false ""`}, nil},
		{"ping inside", join(frame(0x01, "Hel"), frame(0x89, "p"), frame(0x80, "lo")), []string{`control op=9 "p"`, `message op=1 z=false "Hello"`}, nil},
		{"pong and close", join(frame(0x8a, ""), frame(0x88, "\x03\xe8bye")), []string{`control op=10 ""`, `control op=8 "\x03\xe8bye"`}, nil},
		{"control of 125", frame(0x89, long[:125]), []string{fmt.Sprintf("control op=9 %q", long[:125])}, nil},
		{"compressed", join(frame(0x41, "\xf2\x48"), frame(0x80, "\xcd")), []string{`message op=1 z=true "\xf2H\xcd"`}, nil},
		{"compressed, then not", join(frame(0xc1, "\xf2\x48"), frame(0x81, "x")), []string{`message op=1 z=true "\xf2H"`, `message op=1 z=false "x"`}, nil},
		{"characters cut by frames", join(frame(0x01, "\xce"), frame(0x00, "\xba\xe1"), frame(0x00, "\xbd"), frame(0x80, "\xb9")), []string{fmt.Sprintf("message op=1 z=false %q", "\u03ba\u1f79")}, nil},

		{"control of 126", frame(0x89, long[:126]), nil, errControlSize},
		{"control without fin", frame(0x09, ""), nil, errControlFin},
		{"control with RSV1", frame(0xc9, ""), nil, errReserved},
		{"RSV2", frame(0xa1, "x"), nil, errReserved},
		{"RSV3", frame(0x91, "x"), nil, errReserved},
		{"RSV1 and RSV2", frame(0xe1, "x"), nil, errReserved},
		{"RSV1 of a continuation", join(frame(0x41, "x"), frame(0xc0, "x")), nil, errReserved},
		{"opcode 3", frame(0x83, ""), nil, errOpcode},
		{"opcode 7", frame(0x87, ""), nil, errOpcode},
		{"opcode 11", frame(0x8b, ""), nil, errOpcode},
		{"opcode 15", frame(0x8f, ""), nil, errOpcode},
		{"unmasked", plain(0x81, "x"), nil, errUnmasked},
		{"unmasked control", plain(0x89, ""), nil, errUnmasked},
		{"continuation first", frame(0x80, "x"), nil, errContinuation},
		{"continuation after the end", join(frame(0x81, "a"), frame(0x00, "x")), []string{`message op=1 z=false "a"`}, errContinuation},
		{"text inside text", join(frame(0x01, "a"), frame(0x81, "x")), nil, errInterleaved},
		{"long form of 125", []byte{0x82, 0xfe, 0, 125, 0, 0, 0, 0}, nil, errLengthForm},
		{"longer form of 65535", []byte{0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}, nil, errLengthForm},
		{"2^63", []byte{0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, nil, errLength},
		{"limit", frame(0x82, long[:70001]), nil, errTooBig},
		{"2^63-1", []byte{0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, nil, errTooBig},
		{"limit of fragments", join(frame(0x02, long[:70000]), frame(0x80, "x")), nil, errTooBig},
		{"limit is per message", join(frame(0x82, long[:70000]), frame(0x82, "x")), []string{fmt.Sprintf("message op=2 z=false %q", long[:70000]), `message op=2 z=false "x"`}, nil},
		{"bad text", frame(0x81, "abc\xffdef"), nil, errText},
		{"bad text in the second frame", join(frame(0x01, "abc"), frame(0x80, "\xc0\xaf")), nil, errText},
		{"text ends inside a character", frame(0x81, "abc\xce"), nil, errText},
		{"fragments end inside a character", join(frame(0x01, "\xce"), frame(0x80, "")), nil, errText},
		{"control frames aren't checked", frame(0x89, "\xff"), []string{`control op=9 "\xff"`}, nil},
	}
	splits := [][]int{nil, {1}, {2}, {3}, {7}, {1, 13, 1}, {64}, {6, 1000}, {1 << 16}}
	for _, tt := range tests {
		for _, hold := range []int{0, 4, 4096, 1 << 20} {
			for _, sizes := range splits {
				if len(tt.in) > 1000 && sizes != nil && sizes[len(sizes)-1] < 64 {
					continue
				}
				for _, land := range []bool{false, true} {
					c := Config{Deflate: true, MaxMessage: 70000, Hold: hold}
					got, err := events(c, tt.in, sizes, land)
					if fmt.Sprint(got) != fmt.Sprint(tt.want) || err != tt.err && (err != nil || tt.err != nil) {
						t.Fatalf("%s, hold %d, parts %v, land %v: %.200v, %v; want %.200v, %v", tt.name, hold, sizes, land, got, err, tt.want, tt.err)
					}
				}
			}
		}
	}
}
