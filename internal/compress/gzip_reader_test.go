package compress

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// events gives out parts. It notes in at how many decoded bytes had been read when the first read
// of each part came, and the read of the end.
type events struct {
	parts [][]byte
	begun bool // a byte of parts[0] was given out
	got   *int // the decoded bytes that were read so far
	at    []int
}

func (e *events) Read(p []byte) (int, error) {
	if !e.begun {
		e.at = append(e.at, *e.got)
	}
	if len(e.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, e.parts[0])
	e.parts[0] = e.parts[0][n:]
	if e.begun = len(e.parts[0]) > 0; !e.begun {
		e.parts = e.parts[1:]
	}
	return n, nil
}

// TestMembersAreGivenOut proves that what has arrived whole, a gzip member or a zstd frame, is
// given out before anything that follows is read, with buffers of any size.
func TestMembersAreGivenOut(t *testing.T) {
	for _, c := range []Coding{Gzip, Zstd} {
		for _, size := range []int{1, 5, 12, 4096} {
			const event = "an event..\n" // of 11 bytes
			got := 0
			src := &events{got: &got}
			for range 4 {
				src.parts = append(src.parts, Append(nil, []byte(event), c, 4))
			}
			r, err := NewReader(src, c)
			if err != nil {
				t.Fatal(err)
			}
			all, b := "", make([]byte, size)
			for err == nil {
				var n int
				n, err = r.Read(b)
				got += n
				all += string(b[:n])
			}
			if err != io.EOF || all != event+event+event+event {
				t.Errorf("%v, buffer of %d: %q, %v", c, size, all, err)
			}
			for i, at := range src.at {
				if want := i * len(event); at != want {
					t.Errorf("%v, buffer of %d: part %d was read after %d bytes, want %d", c, size, i, at, want)
				}
			}
			r.Close()
		}
	}
}

// TestGzipMembers proves that members are read as one stream (RFC 1952 section 2.2), whole and
// byte by byte, and that what isn't a member is an error.
func TestGzipMembers(t *testing.T) {
	one := func(s string) string { return string(Append(nil, []byte(s), Gzip, 4)) }
	a, b, none := one("hello "), one("world"), one("")
	for _, tt := range []struct {
		name, in, want string
		ok             bool
	}{
		{"one", a, "hello ", true},
		{"two", a + b, "hello world", true},
		{"empty ones", none + a + none + none + b + none, "hello world", true},
		{"cut in the second", a + b[:len(b)-1], "hello world", false},
		{"cut in its head", a + b[:5], "hello ", false},
		{"something else", a + "garbage that is longer than a head", "hello ", false},
		{"wrong sum", a[:len(a)-8] + "\x00\x00\x00\x00" + a[len(a)-4:], "hello ", false},
	} {
		for form, r := range map[string]io.Reader{
			"whole": bytes.NewReader([]byte(tt.in)), "no ReadByte": io.MultiReader(bytes.NewReader([]byte(tt.in))),
			"byte by byte": iotest.OneByteReader(bytes.NewReader([]byte(tt.in))), "with EOF": iotest.DataErrReader(bytes.NewReader([]byte(tt.in))),
		} {
			z, err := NewReader(r, Gzip)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(z)
			z.Close()
			if string(got) != tt.want || (err == nil) != tt.ok {
				t.Errorf("%s, %s: %q, %v", tt.name, form, got, err)
			}
		}
		got, err := AppendDecoded(nil, []byte(tt.in), Gzip, 0)
		if string(got) != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s, AppendDecoded: %q, %v", tt.name, got, err)
		}
	}
	broken := errors.New("broken")
	z, err := NewReader(io.MultiReader(bytes.NewReader([]byte(a)), iotest.ErrReader(broken)), Gzip)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if got, err := io.ReadAll(z); string(got) != "hello " || err != broken {
		t.Errorf("an error after a member: %q, %v", got, err)
	}
}
