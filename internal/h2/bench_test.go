package h2

import (
	"testing"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/hpack"
	"github.com/galehttp/gale/internal/msg"
)

// browser are the fields of a request as browsers send them.
var browser = []string{
	":method: GET", ":scheme: https", ":authority: www.example.com", ":path: /static/app.js?v=12345",
	"user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
	"accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "accept-encoding: gzip, deflate, br, zstd",
	"accept-language: en-US,en;q=0.9", "sec-fetch-site: same-origin", "sec-fetch-mode: cors", "sec-fetch-dest: empty",
	"referer: https://www.example.com/", "cookie: session=0123456789abcdef", "priority: u=1, i", "x-requested-with: fetch",
}

// rounds are what a client sends for n requests at a time, in rounds: the first enters
// fields into the table, the others use it.
type rounds struct {
	enc hpack.Encoder
	id  uint32
	in  []byte
}

func (r *rounds) next(n int, fields []string) []byte {
	r.in = r.in[:0]
	for range n {
		from := len(r.in)
		r.in = append(r.in, make([]byte, frameHeaderLen)...)
		r.in = r.enc.Begin(r.in)
		for _, f := range fields {
			i := 1
			for f[i] != ':' {
				i++
			}
			r.in = r.enc.AppendField(r.in, msg.Unknown, []byte(f[:i]), []byte(f[i+2:]), hpack.Auto)
		}
		setFrameHeader(r.in[from:], len(r.in)-from-frameHeaderLen, frameHeaders, flagEndHeaders|flagEndStream, r.id)
		r.id += 2
	}
	return r.in
}

// exchanger is a server that answers each request with a body.
type exchanger struct {
	c    Conn
	out  []byte
	h    msg.RequestHead
	r    head.Response
	by   head.Sender
	body []byte
}

func newExchanger(t testing.TB) *exchanger {
	x := &exchanger{by: head.Sender{Server: "gale", Date: new([head.DateLen]byte)}, body: []byte("Hello, World!")}
	copy(x.by.Date[:], "Sun, 22 Nov 2026 23:00:00 GMT")
	cfg := new(Config)
	cfg.Fill()
	x.out = x.c.Begin(cfg, nil)
	x.h.Reset()
	x.r.Reset()
	x.serve(t, []byte(Preface+settings(settingInitialWindow, 1<<20)+frame(frameSettings, flagAck, 0, "")+windowUpdate(0, 1<<30)))
	return x
}

func (x *exchanger) serve(t testing.TB, in []byte) (served int) {
	x.out = x.out[:0]
	for len(in) > 0 {
		var ev Event
		n := x.c.Read(in, 1, &ev)
		switch ev.Kind {
		case Head:
			if err := x.c.DecodeRequest(&x.h); err != nil {
				t.Fatal(err)
			}
			x.r.ContentLength = int64(len(x.body))
			x.out = x.c.AppendHead(x.out, ev.Stream, &x.r, x.by, false)
			x.out, _ = x.c.AppendData(x.out, ev.Stream, x.body, true)
			x.c.Done(ev.Stream)
			x.h.Reset()
			x.r.Reset()
			served++
		case None, Room:
		default:
			t.Fatalf("event %d, code %v", ev.Kind, ev.Code)
		}
		in = in[n:]
	}
	x.out = x.c.AppendControl(x.out)
	return served
}

// A round is 32 GETs that come at once and their responses.
func BenchmarkRound(b *testing.B) {
	for name, fields := range map[string][]string{
		"plain":   {":method: GET", ":scheme: http", ":authority: localhost:8080", ":path: /", "user-agent: h2load nghttp2/1.52.0"},
		"browser": browser,
	} {
		b.Run(name, func(b *testing.B) {
			x := newExchanger(b)
			r := rounds{id: 1}
			x.serve(b, r.next(32, fields))
			x.serve(b, r.next(32, fields))
			template := append([]byte(nil), r.next(32, fields)...)
			last := r.id - 64
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				for at, k := 0, uint32(0); at < len(template); k++ {
					f := parseFrameHeader(template[at:])
					setFrameHeader(template[at:], f.length, f.typ, f.flags, last+2*k)
					at += frameHeaderLen + f.length
				}
				last += 64
				if n := x.serve(b, template); n != 32 {
					b.Fatal(n)
				}
				if last > 1<<30 {
					last = 1
					x.c.last, x.c.closed = 0, closedStreams{}
				}
				x.c.out.window = 1 << 30
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/32, "ns/request")
			b.ReportMetric(float64(len(x.out))/32, "bytes/response")
		})
	}
}
