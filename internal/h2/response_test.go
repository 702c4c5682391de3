package h2

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	xhpack "golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// reader of what a Conn sends: it decodes field blocks with another implementation.
type viewer struct {
	t   *testing.T
	dec *xhpack.Decoder
}

func newViewer(t *testing.T) *viewer { return &viewer{t, xhpack.NewDecoder(4096, nil)} }

// show returns frames as text.
func (v *viewer) show(b []byte) string {
	v.t.Helper()
	var out []string
	var block []byte
	first := frameHeader{}
	for len(b) > 0 {
		f := parseFrameHeader(b)
		if f.length > maxFrame {
			v.t.Fatalf("a frame of %d bytes", f.length)
		}
		payload := b[frameHeaderLen : frameHeaderLen+f.length]
		b = b[frameHeaderLen+f.length:]
		switch f.typ {
		case frameHeaders, frameContinuation:
			if f.typ == frameHeaders {
				first, block = f, nil
			}
			if block = append(block, payload...); f.flags&flagEndHeaders == 0 {
				continue
			}
			fields, err := v.dec.DecodeFull(block)
			if err != nil {
				v.t.Fatal(err)
			}
			line := fmt.Sprintf("HEADERS %d", first.stream)
			if first.flags&flagEndStream != 0 {
				line += " end"
			}
			for _, x := range fields {
				line += fmt.Sprintf("|%s: %s", x.Name, x.Value)
			}
			out = append(out, line)
		case frameData:
			line := fmt.Sprintf("DATA %d %s", f.stream, payload)
			if f.flags&flagEndStream != 0 {
				line += " end"
			}
			out = append(out, line)
		default:
			out = append(out, typeNames[f.typ])
		}
	}
	return strings.Join(out, "\n")
}

const date = "|date: Sun, 22 Nov 2026 23:00:00 GMT"

func TestAppendHead(t *testing.T) {
	put := func(r *head.Response, pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			r.PutMore(msg.LookupString(pairs[i]), []byte(pairs[i]), []byte(pairs[i+1]), msg.Normalized)
		}
	}
	for _, x := range []struct {
		name string
		set  func(r *head.Response)
		by   head.Sender
		want string
	}{
		{"empty", func(r *head.Response) {}, head.Sender{Server: "gale"}, ":status: 200|server: gale" + date},
		{"a length of 0", func(r *head.Response) {}, head.Sender{ZeroLength: true}, ":status: 200" + date + "|content-length: 0"},
		{"a body", func(r *head.Response) { r.ContentLength = 5 }, head.Sender{Server: "gale"},
			":status: 200|server: gale" + date + "|content-type: text/plain; charset=utf-8|content-length: 5"},
		{"no length", func(r *head.Response) { r.ContentLength = msg.LenChunked }, head.Sender{},
			":status: 200" + date + "|content-type: text/plain; charset=utf-8"},
		{"slots", func(r *head.Response) {
			r.SetSlot(msg.Server, []byte("mine"))
			r.SetSlot(msg.ContentType, []byte("a/b"))
			r.Status, r.ContentLength = 404, 3
		}, head.Sender{Server: "gale"}, ":status: 404|server: mine" + date + "|content-type: a/b|content-length: 3"},
		{"records", func(r *head.Response) {
			put(r, "Date", "now", "Server", "s", "Content-Type", "c/d", "Content-Encoding", "gzip", "X-Foo", "1", "Set-Cookie", "a=1", "Set-Cookie", "b=2", "Vary", "x")
			r.ContentLength = 3
		}, head.Sender{Server: "gale"},
			":status: 200|server: s|date: now|content-type: c/d|content-length: 3|content-encoding: gzip|x-foo: 1|set-cookie: a=1|set-cookie: b=2|vary: x"},
		{"nothing implied", func(r *head.Response) { r.Implied = head.NoDate | head.NoDefaultType; r.ContentLength = 3 }, head.Sender{},
			":status: 200|content-length: 3"},
		{"connection-specific fields", func(r *head.Response) {
			put(r, "Connection", "close", "Keep-Alive", "1", "Proxy-Connection", "1", "Transfer-Encoding", "chunked", "Upgrade", "x", "Te", "x", "X-Foo", "1")
			r.Conn = msg.ConnClose
		}, head.Sender{}, ":status: 200" + date + "|x-foo: 1"},
		{"204", func(r *head.Response) { r.Status = 204; r.ContentLength = 7 }, head.Sender{ZeroLength: true}, ":status: 204" + date},
		{"304", func(r *head.Response) { r.Status = 304; put(r, "Content-Length", "7", "Etag", "x") }, head.Sender{}, ":status: 304" + date + "|content-length: 7|etag: x"},
		{"another status", func(r *head.Response) { r.Status = 299 }, head.Sender{}, ":status: 299" + date},
		{"no status", func(r *head.Response) { r.Status = 1000 }, head.Sender{}, ":status: 500" + date},
		{"dirty values", func(r *head.Response) {
			put(r, "X-A", " a ", "X-B", "\ta\r\nb: c\x00 ")
		}, head.Sender{Server: " ga\r\nle "}, ":status: 200|server: ga  le" + date + "|x-a: a|x-b: a  b: c"},
		{"names as given", func(r *head.Response) {
			r.Spelling = msg.AsGiven
			r.PutMore(msg.Unknown, []byte("x-FOO"), []byte("1"), msg.AsGiven)
			r.PutMore(msg.Etag, []byte("ETAG"), []byte("2"), msg.AsGiven)
		}, head.Sender{}, ":status: 200" + date + "|x-foo: 1|etag: 2"},
		{"deleted fields", func(r *head.Response) {
			put(r, "X-A", "1", "Etag", "2", "X-B", "3")
			r.Del(msg.Etag, nil)
		}, head.Sender{}, ":status: 200" + date + "|x-a: 1|x-b: 3"},
		{"a Trailer field", func(r *head.Response) {
			r.ContentLength = msg.LenChunked
			if err := r.Trailers.Declare(&r.Fields, []byte("X-Sum, X-Other"), msg.Normalized); err != nil {
				t.Error(err)
			}
		}, head.Sender{}, ":status: 200" + date + "|content-type: text/plain; charset=utf-8|trailer: X-Sum, X-Other"},
		{"a long value", func(r *head.Response) { put(r, "X-Long", strings.Repeat("\xfe", 40000)) }, head.Sender{},
			":status: 200" + date + "|x-long: " + strings.Repeat("\xfe", 40000)},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := newPeer(t, Config{}).greet()
			v := newViewer(t)
			x.by.Date = testDate
			for id := uint32(1); id < 12; id += 2 { // what is kept of the last ones makes no difference
				p.send(headers(id, 1, get...))
				var r head.Response
				r.Reset()
				x.set(&r)
				end := id%4 == 1
				want := fmt.Sprintf("HEADERS %d", id)
				if end {
					want += " end"
				}
				if got := v.show(p.c.AppendHead(nil, p.open[id], &r, x.by, end)); got != want+"|"+x.want {
					t.Errorf("got  %.400q\nwant %.400q", got, want+"|"+x.want)
				}
				if p.open[id].Ended() != end {
					t.Error("Ended is", !end)
				}
			}
		})
	}
}

// Responses of all kinds in turns decode, whatever is kept of the last ones, also while the
// peer changes the size of its table.
func TestAppendHeadInTurns(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	v := newViewer(t)
	dates := [2]*[head.DateLen]byte{testDate, (*[head.DateLen]byte)([]byte("Sun, 22 Nov 2026 23:00:01 GMT"))}
	types := []string{"a/b", "text/html", ""}
	for i := range 2000 {
		id := uint32(2*i + 1)
		if i%100 == 50 {
			size := uint32(i/100%5) * 100
			p.send(settings(settingTableSize, 0, settingTableSize, size))
			v.dec.SetAllowedMaxDynamicTableSize(size)
		}
		p.send(headers(id, 1, get...))
		var r head.Response
		r.Reset()
		by := head.Sender{Server: "gale", Date: dates[i/7%2]}
		ctype := types[i/3%3]
		want := fmt.Sprintf("HEADERS %d|:status: %d|server: gale|date: %s", id, 200+i%2, by.Date[:])
		r.Status = 200 + i%2
		if ctype != "" {
			r.SetSlot(msg.ContentType, []byte(ctype))
		} else {
			ctype = head.DefaultResponseType
		}
		r.ContentLength = int64(1 + i%3)
		want += fmt.Sprintf("|content-type: %s|content-length: %d", ctype, r.ContentLength)
		if i%5 == 0 {
			r.Put(msg.Unknown, []byte("X-N"), []byte(fmt.Sprint(i)), msg.Normalized)
			want += fmt.Sprintf("|x-n: %d", i)
		}
		if got := v.show(p.c.AppendHead(nil, p.open[id], &r, by, false)); got != want {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
		p.c.Done(p.open[id])
	}
}

// The peer gets the default representation in a few bytes.
func TestAppendHeadIsShort(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	for id := uint32(1); id < 20; id += 2 {
		p.send(headers(id, 1, get...))
		if out := answer(p.c, p.open[id], 200, "x"); id > 5 && len(out) > 9+8+9+1 {
			t.Errorf("response %d has %d bytes", id, len(out))
		}
	}
}

func TestAppendInterimAndTrailers(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	v := newViewer(t)
	p.send(headers(1, 1, get...), headers(3, 1, get...))
	var r head.Response
	r.Reset()
	r.Put(msg.Unknown, []byte("Link"), []byte("</a>"), msg.Normalized)
	r.Put(msg.ContentLength, []byte("Content-Length"), []byte("5"), msg.Normalized)
	out := p.c.AppendInterim(nil, p.open[1], 103, &r)
	out = p.c.AppendInterim(out, p.open[1], 100, nil)
	r.Reset()
	r.ContentLength = msg.LenChunked
	out = p.c.AppendHead(out, p.open[1], &r, head.Sender{Date: testDate}, false)
	out, _ = p.c.AppendData(out, p.open[1], []byte("abc"), false)
	if err := r.Trailers.AddValue(&r.Fields, []byte("X-Sum"), []byte("1"), msg.Normalized); err != nil {
		t.Fatal(err)
	}
	out = p.c.AppendTrailers(out, p.open[1], &r.Trailers)
	r.Reset()
	out = p.c.AppendTrailers(out, p.open[3], &r.Trailers)
	want := "HEADERS 1|:status: 103|link: </a>\nHEADERS 1|:status: 100\nHEADERS 1|:status: 200" + date +
		"|content-type: text/plain; charset=utf-8\nDATA 1 abc\nHEADERS 1 end|x-sum: 1\nDATA 3  end"
	if got := v.show(out); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !p.open[1].Ended() || !p.open[3].Ended() {
		t.Error("a stream has not ended")
	}
}

func TestResponsePriority(t *testing.T) {
	p := newPeer(t, Config{}).greet()
	p.send(headers(1, 1, with(get, "priority: u=6, i")...), headers(3, 1, get...))
	p.c.Queue(p.open[3])
	p.c.Queue(p.open[1])
	var r head.Response
	r.Reset()
	r.Put(msg.Priority, []byte("Priority"), []byte("u=1"), msg.Normalized)
	p.c.AppendHead(nil, p.open[1], &r, head.Sender{Date: testDate}, false)
	if got := p.open[1].Priority(); got != (Priority{1, true}) || p.c.Next() != p.open[1] {
		t.Errorf("%+v", got)
	}
}

// AppendDataHeader frames what AppendData does.
func TestAppendDataHeader(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789"), 5000)
	var outs [2][]byte
	for i := range outs {
		p := newPeer(t, Config{}).greet()
		p.send(headers(1, 1, get...))
		if i == 0 {
			outs[i], _ = p.c.AppendData(nil, p.open[1], body, true)
			continue
		}
		for rest := body; len(rest) > 0; {
			out, n := p.c.AppendDataHeader(outs[i], p.open[1], len(rest), true)
			outs[i] = append(out, rest[:n]...)
			rest = rest[n:]
		}
	}
	if !bytes.Equal(outs[0], outs[1]) || len(outs[0]) != len(body)+4*frameHeaderLen {
		t.Error("the frames differ")
	}
}
