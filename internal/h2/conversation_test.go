package h2

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// framed is a client made of another implementation's frames and compression. It talks to
// an echo of bodies that keeps to the windows, as it does itself.
type framed struct {
	t   *testing.T
	rnd *rand.Rand
	c   Conn
	cfg Config

	toServer, toClient bytes.Buffer
	fr                 *http2.Framer
	enc                *xhpack.Encoder
	block              bytes.Buffer

	// of the client
	window  int // of the connection
	initial int
	reqs    map[uint32]*framedRequest
	done    int
	acks    int

	// of the server
	echo map[*Stream]*framedEcho
	h    msg.RequestHead
}

type framedRequest struct {
	body   []byte
	sent   int
	ended  bool
	window int
	status string
	got    []byte
	sum    string // of the trailer section
}

type framedEcho struct {
	body []byte
	end  bool
	sent int
}

func newFramed(t *testing.T, seed uint64) *framed {
	f := &framed{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), window: initialWindow, initial: initialWindow,
		reqs: map[uint32]*framedRequest{}, echo: map[*Stream]*framedEcho{}}
	f.cfg.Fill()
	f.toClient.Write(f.c.Begin(&f.cfg, nil))
	f.fr = http2.NewFramer(&f.toServer, &f.toClient)
	f.fr.ReadMetaHeaders = xhpack.NewDecoder(4096, nil)
	f.enc = xhpack.NewEncoder(&f.block)
	f.toServer.WriteString(Preface)
	f.must(f.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 20000}))
	f.h.Reset()
	return f
}

func (f *framed) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *framed) request(id uint32, body []byte) {
	f.block.Reset()
	for _, x := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", "a.test"}, {":path", "/" + strconv.Itoa(int(id))},
		{"user-agent", "framed"}, {"x-id", strconv.Itoa(int(id))}, {"content-length", strconv.Itoa(len(body))},
	} {
		f.must(f.enc.WriteField(xhpack.HeaderField{Name: x[0], Value: x[1], Sensitive: f.rnd.IntN(5) == 0}))
	}
	b := f.block.Bytes()
	cut := f.rnd.IntN(len(b) + 1)
	if f.rnd.IntN(2) == 0 {
		cut = len(b)
	}
	f.must(f.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: b[:cut], EndHeaders: cut == len(b), EndStream: len(body) == 0, PadLength: uint8(f.rnd.IntN(20))}))
	if cut < len(b) {
		f.must(f.fr.WriteContinuation(id, true, b[cut:]))
	}
	f.reqs[id] = &framedRequest{body: body, window: f.initial, ended: len(body) == 0}
}

// upload sends a piece of a body, as far as the windows let it.
func (f *framed) upload(id uint32) {
	r := f.reqs[id]
	n := min(len(r.body)-r.sent, r.window, f.window, 1+f.rnd.IntN(maxFrame))
	if r.ended || n <= 0 {
		return
	}
	end := r.sent+n == len(r.body)
	trailers := end && f.rnd.IntN(2) == 0
	f.must(f.fr.WriteData(id, end && !trailers, r.body[r.sent:r.sent+n]))
	r.sent += n
	r.window -= n
	f.window -= n
	r.ended = end
	if trailers {
		f.block.Reset()
		f.must(f.enc.WriteField(xhpack.HeaderField{Name: "x-sum", Value: strconv.Itoa(len(r.body))}))
		f.must(f.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.block.Bytes(), EndHeaders: true, EndStream: true}))
	}
}

// serve gives the server what the client has sent, in pieces.
func (f *framed) serve() {
	for f.toServer.Len() > 0 {
		in := f.toServer.Next(1 + f.rnd.IntN(20000))
		for len(in) > 0 {
			var ev Event
			n := f.c.Read(in, 1, &ev)
			f.event(&ev)
			in = in[n:]
			f.must(f.c.check())
		}
	}
	out := f.c.AppendHeld(f.c.AppendControl(nil))
	for st := f.c.Next(); st != nil; st = f.c.Next() {
		e := f.echo[st]
		piece := min(len(e.body)-e.sent, 1+f.rnd.IntN(30000))
		if f.rnd.IntN(20) == 0 {
			out = f.c.AppendControl(out)
		}
		var took int
		out, took = f.c.AppendData(out, st, e.body[e.sent:e.sent+piece], false)
		if e.sent += took; e.sent == len(e.body) {
			f.c.Unqueue(st)
			f.finish(st, &out)
		}
	}
	f.toClient.Write(out)
}

func (f *framed) finish(st *Stream, out *[]byte) {
	e := f.echo[st]
	if !e.end || e.sent < len(e.body) {
		return
	}
	var t head.Trailers
	var r head.Response
	f.must(t.AddValue(&r.Fields, []byte("X-Sum"), strconv.AppendInt(nil, int64(len(e.body)), 10), msg.Normalized))
	*out = f.c.AppendTrailers(*out, st, &t)
	delete(f.echo, st)
	f.c.Done(st)
}

func (f *framed) event(ev *Event) {
	st := ev.Stream
	var out []byte
	switch ev.Kind {
	case Head:
		f.must(f.c.DecodeRequest(&f.h))
		if string(f.h.Part(msg.Target)) != fmt.Sprintf("/%d", st.ID()) || string(f.h.Value(f.h.FindName([]byte("X-Id")))) != fmt.Sprint(st.ID()) {
			f.t.Fatalf("head of %d: %s", st.ID(), showHead(&f.h))
		}
		f.h.Reset()
		f.echo[st] = &framedEcho{end: ev.End}
		var r head.Response
		r.Reset()
		r.ContentLength = msg.LenChunked
		out = f.c.AppendHead(nil, st, &r, head.Sender{Server: "gale", Date: testDate}, false)
		f.finish(st, &out)
	case Data:
		e := f.echo[st]
		e.body = append(e.body, ev.Data...)
		e.end = ev.End
		f.c.Consumed(st, len(ev.Data))
		if len(e.body) > e.sent {
			f.c.Queue(st)
		} else {
			f.finish(st, &out)
		}
	case Trailers:
		var t msg.Fields
		f.must(f.c.DecodeTrailers(&t))
		e := f.echo[st]
		if e.end = true; string(t.Peek(msg.Unknown)) != "" || string(t.Value(0)) != strconv.Itoa(len(e.body)) {
			f.t.Fatalf("trailers %q after %d bytes", t.Buf, len(e.body))
		}
		if e.sent == len(e.body) {
			f.finish(st, &out)
		}
	case None, Room:
	default:
		f.t.Fatalf("event %d, code %v, local %v", ev.Kind, ev.Code, ev.Local)
	}
	f.toClient.Write(out)
}

// receive reads what the server has sent.
func (f *framed) receive() {
	for f.toClient.Len() > 0 {
		fr, err := f.fr.ReadFrame()
		f.must(err)
		id := fr.Header().StreamID
		r := f.reqs[id]
		switch fr := fr.(type) {
		case *http2.SettingsFrame:
			if fr.IsAck() {
				f.acks++
				continue
			}
			if v, ok := fr.Value(http2.SettingInitialWindowSize); ok {
				f.initial = int(v)
			}
			f.must(f.fr.WriteSettingsAck())
		case *http2.WindowUpdateFrame:
			if id == 0 {
				f.window += int(fr.Increment)
			} else if r != nil {
				r.window += int(fr.Increment)
			}
		case *http2.MetaHeadersFrame:
			if r.status == "" {
				r.status = fr.PseudoValue("status")
			} else if r.sum = fr.RegularFields()[0].Value; !fr.StreamEnded() {
				f.t.Fatal("the trailer section doesn't end the stream")
			}
			f.ends(id, fr.StreamEnded())
		case *http2.DataFrame:
			r.got = append(r.got, fr.Data()...)
			if n := len(fr.Data()); n > 0 && f.rnd.IntN(10) > 0 {
				f.must(f.fr.WriteWindowUpdate(0, uint32(n)))
				f.must(f.fr.WriteWindowUpdate(id, uint32(n)))
			} else if n > 0 {
				f.must(f.fr.WriteWindowUpdate(0, uint32(2*n)))
				f.must(f.fr.WriteWindowUpdate(id, uint32(2*n)))
			}
			f.ends(id, fr.StreamEnded())
		case *http2.PingFrame:
			if !fr.IsAck() {
				f.t.Fatal("a PING")
			}
		default:
			f.t.Fatalf("%v", fr)
		}
	}
}

func (f *framed) ends(id uint32, end bool) {
	r := f.reqs[id]
	if !end {
		return
	}
	if r.status != "200" || !bytes.Equal(r.got, r.body) || r.sum != strconv.Itoa(len(r.body)) {
		f.t.Fatalf("stream %d: status %q, %d bytes of %d, sum %q", id, r.status, len(r.got), len(r.body), r.sum)
	}
	f.done++
	delete(f.reqs, id)
}

// Uploads and downloads of all sizes at once, with windows that change.
func TestConversation(t *testing.T) {
	for seed := range uint64(5) {
		f := newFramed(t, seed)
		id := uint32(1)
		f.serve()
		f.receive()
		for rounds := 0; f.done < 150; rounds++ {
			if rounds > 20000 {
				t.Fatalf("no progress: %d of 150 streams are done, %d open", f.done, len(f.reqs))
			}
			for range f.rnd.IntN(10) {
				if len(f.reqs) < 100 && id < 2*150 {
					body := make([]byte, f.rnd.IntN(1<<f.rnd.IntN(19)))
					for i := range body {
						body[i] = byte(i * int(id))
					}
					f.request(id, body)
					id += 2
				}
			}
			for id := range f.reqs {
				f.upload(id)
			}
			if f.rnd.IntN(10) == 0 {
				f.must(f.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(f.rnd.IntN(100000))}))
			}
			if f.rnd.IntN(5) == 0 {
				f.must(f.fr.WritePing(false, [8]byte{1}))
			}
			f.serve()
			f.receive()
			// A window may be closed for good after it was made smaller.
			for id := range f.reqs {
				if rounds%50 == 49 {
					f.must(f.fr.WriteWindowUpdate(id, 50000))
				}
			}
		}
		if f.c.Streams() != 0 || f.acks == 0 {
			t.Errorf("%d streams are left, %d acknowledgements", f.c.Streams(), f.acks)
		}
	}
}
