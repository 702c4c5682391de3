package h1

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

// A head is whole or empty: parseInPieces and parseResponseInPieces call these after
// each call of the parser, so all tests and fuzz targets that use them prove it.

// mustBeFresh panics if h differs from a head that was reset in anything that can be
// seen.
func mustBeFresh(h *msg.RequestHead) {
	var fresh msg.RequestHead
	fresh.Reset()
	mustHaveNothing(&h.Fields)
	if h.ContentLength != fresh.ContentLength || h.MethodID != fresh.MethodID || h.Minor != fresh.Minor ||
		h.Conn != fresh.Conn || h.Expect != fresh.Expect || h.Form != fresh.Form {
		panic(fmt.Sprintf("a head that isn't whole says: %s", describeRequest(h)))
	}
}

// mustBeFreshResponse is mustBeFresh for responses.
func mustBeFreshResponse(h *msg.ResponseHead) {
	var fresh msg.ResponseHead
	fresh.Reset()
	mustHaveNothing(&h.Fields)
	if h.Status != fresh.Status || h.ContentLength != fresh.ContentLength || h.Minor != fresh.Minor || h.Conn != fresh.Conn {
		panic(fmt.Sprintf("a head that isn't whole says: %s", describeResponse(h)))
	}
}

func mustHaveNothing(f *msg.Fields) {
	mustHold(f)
	lines, _ := f.Lines()
	if len(f.Buf)+len(f.Recs)+f.Len()+len(lines) != 0 || f.Seen() != 0 || f.Parts != new(msg.Fields).Parts {
		panic(fmt.Sprintf("a head that isn't whole has fields or parts: %+v", *f))
	}
}

func mustHold(f *msg.Fields) {
	if err := f.Check(); err != nil {
		panic(err)
	}
}

// What happens to a head while the rest of it is awaited has no effect on what is
// parsed, and what was parsed before has none on the head.
func TestParseWhileTouched(t *testing.T) {
	const first = "POST /path HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nContent-Length: 5\r\nContent-Type: t\r\n"
	const in = first + "X-A: 2\r\nConnection: close\r\n\r\n"
	want := ""
	for name, touch := range map[string]func(h, other *msg.RequestHead){
		"not":   func(h, _ *msg.RequestHead) {},
		"reset": func(h, _ *msg.RequestHead) { h.Reset() },
		"set": func(h, _ *msg.RequestHead) {
			h.Put(msg.Cookie, []byte("Cookie"), []byte("secret"), msg.Normalized)
			h.Put(msg.Unknown, []byte("X-Mine"), []byte("b"), msg.Normalized)
			h.SetPart(msg.Target, []byte("/other"))
			h.ContentLength, h.Conn, h.MethodID = 7, msg.ConnKeepAlive, msg.MethodPut
		},
		"set and compacted": func(h, _ *msg.RequestHead) {
			for range 10 {
				h.Put(msg.Cookie, []byte("Cookie"), []byte(strings.Repeat("x", 3000)), msg.Normalized)
				h.Del(msg.Cookie, nil)
			}
		},
		"put again": func(h, _ *msg.RequestHead) {
			for range 3 {
				h.Fields.Reset()
				for _, name := range []string{"X-Mine", "X-Other"} {
					if !h.PutAgain([]byte(name), []byte("b"), 0) {
						h.Put(msg.Unknown, []byte(name), []byte("b"), msg.Normalized)
					}
				}
			}
		},
		"copied":      func(h, other *msg.RequestHead) { h.CopyTo(other) },
		"overwritten": func(h, other *msg.RequestHead) { other.CopyTo(h) },
	} {
		for cut := range len(in) {
			var h, other msg.RequestHead
			h.Reset()
			other.Reset()
			if _, err := ParseRequest([]byte(in[:cut]), &h, nil); err != ErrPartial {
				t.Fatal(err)
			}
			mustBeFresh(&h)
			touch(&h, &other)
			mustHold(&h.Fields)
			mustBeFresh(&other)
			if n, err := ParseRequest([]byte(in), &h, nil); n != len(in) || err != nil {
				t.Fatalf("%s at %d: %d, %v", name, cut, n, err)
			}
			mustHold(&h.Fields)
			got := describeRequest(&h) + string(h.AppendWire(nil, 0))
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("%s at %d: %s, want %s", name, cut, got, want)
			}
			mustBeFresh(&other)
		}
	}
}

// A trailer section that is incomplete or broken leaves nothing.
func TestTrailersWholeOrNone(t *testing.T) {
	for _, in := range []string{
		"0\r\nX-A: b\r\nX-B: c\r\n",
		"0\r\nX-A: b\r\nX-B: c\r\nbroken\r\n\r\n",
		"0\r\nX-A: b\r\nHost: c\r\n\r\n",
	} {
		for cut := range len(in) + 1 {
			var f msg.Fields
			f.Add(msg.Etag, nil, []byte("own"))
			_, _, done, _ := readBody(msg.LenChunked, &f, nil, in, cut)
			if err := f.Check(); err != nil || done || string(f.AppendWire(nil, 0)) != "Etag: own\r\n" || len(f.Buf) != len("Etag: own\r\n") {
				t.Fatalf("%q cut at %d: %v, %q, %q", in, cut, err, f.AppendWire(nil, 0), f.Buf)
			}
			f.Reset()
			f.Add(msg.Etag, nil, []byte("own"))
			if _, err := ParseTrailers([]byte(in[3:]), &f, nil); err == nil || string(f.Buf) != "Etag: own\r\n" || f.Check() != nil {
				t.Fatalf("%q: %v, %q", in, err, f.Buf)
			}
		}
	}
}
