package h2

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"testing"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/race"
)

// caller is a client that sends bodies to an echo and compares what comes back.
type caller struct {
	t     testing.TB
	rnd   *rand.Rand
	c     Conn
	cfg   Config
	calls map[*Stream]*call
	left  int // calls that were not begun
	done  int
	size  int // the longest body
	rep   Repeated
	same  *head.Request // what rep is for
	out   []byte
}

type call struct {
	body, got []byte
	sent      int
	status    int
	trailers  bool // of the request
	sum       string
	again     bool // the head is repeated
}

func newCaller(t testing.TB, rnd *rand.Rand, cfg Config, calls, size int) *caller {
	x := &caller{t: t, rnd: rnd, cfg: cfg, calls: map[*Stream]*call{}, left: calls, size: size}
	x.cfg.Fill()
	x.same = makeRequest("POST", "/same", "User-Agent: gale", "X-Kind: same")
	x.same.ContentLength = msg.LenChunked
	x.out = x.c.BeginClient(&x.cfg, nil)
	return x
}

func (x *caller) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// begin opens as many streams as it may, or some of them.
func (x *caller) begin() {
	for x.left > 0 && x.c.CanOpen() > 0 && x.rnd.IntN(4) > 0 {
		body := make([]byte, x.rnd.IntN(1+x.rnd.IntN(1+x.size)))
		for i := range body {
			body[i] = byte(i * x.left)
		}
		k := &call{body: body, trailers: x.rnd.IntN(3) == 0}
		r := x.same
		if k.again = x.rnd.IntN(2) == 0; !k.again {
			r = makeRequest("POST", "/"+strconv.Itoa(x.left), "User-Agent: gale", "X-Id: "+strconv.Itoa(x.left))
			if r.ContentLength = int64(len(body)); k.trailers {
				r.ContentLength = msg.LenChunked
			}
		}
		end := len(body) == 0 && !k.trailers
		var st *Stream
		var err error
		if k.again {
			x.out, st, err = x.c.AppendRepeated(x.out, &x.rep, r, "http", end)
		} else {
			x.out, st, err = x.c.AppendRequest(x.out, r, "http", end)
		}
		x.must(err)
		x.left--
		x.calls[st] = k
		switch {
		case len(body) > 0:
			x.c.Queue(st)
		case !end:
			x.endCall(st, k)
		}
	}
}

// upload sends pieces of bodies as far as the windows allow it.
func (x *caller) upload() {
	for st := x.c.Next(); st != nil; st = x.c.Next() {
		k := x.calls[st]
		piece := k.body[k.sent:min(len(k.body), k.sent+1+x.rnd.IntN(30000))]
		last := k.sent+len(piece) == len(k.body)
		var n int
		x.out, n = x.c.AppendData(x.out, st, piece, last && !k.trailers)
		if k.sent += n; k.sent == len(k.body) {
			x.c.Unqueue(st)
			if k.trailers {
				x.endCall(st, k)
			}
		}
	}
}

// endCall ends a request with trailers.
func (x *caller) endCall(st *Stream, k *call) {
	var t head.Trailers
	var f msg.Fields
	x.must(t.AddValue(&f, []byte("X-Sum"), strconv.AppendInt(nil, int64(len(k.body)), 10), msg.Normalized))
	x.out = x.c.AppendTrailers(x.out, st, &t)
}

// read reads what the server has sent.
func (x *caller) read(in []byte) {
	for len(in) > 0 {
		var ev Event
		n := x.c.Read(in, 1, &ev)
		x.event(&ev)
		in = in[n:]
		x.must(x.c.check())
	}
}

func (x *caller) event(ev *Event) {
	st := ev.Stream
	k := x.calls[st]
	switch ev.Kind {
	case Head:
		if x.rnd.IntN(2) == 0 {
			status, err := x.c.DecodeStatus()
			x.must(err)
			k.status = status
			break
		}
		h := makeResponseHead()
		x.must(x.c.DecodeResponse(h))
		k.status = h.Status
	case Data:
		k.got = append(k.got, ev.Data...)
		x.c.Consumed(st, len(ev.Data))
	case Trailers:
		var f msg.Fields
		x.must(x.c.DecodeTrailers(&f))
		k.sum = string(f.Value(f.FindName([]byte("X-Sum"))))
	case None, Room, Settings:
	default:
		x.t.Fatalf("event %d, code %v, local %v", ev.Kind, ev.Code, ev.Local)
	}
	if st != nil && st.PeerEnded() && st.Ended() {
		x.end(st, k)
	}
}

func (x *caller) end(st *Stream, k *call) {
	if k.status != 200 || !bytes.Equal(k.got, k.body) || k.sum != strconv.Itoa(len(k.body)) {
		x.t.Fatalf("stream %d: status %d, %d bytes of %d, sum %q", st.ID(), k.status, len(k.got), len(k.body), k.sum)
	}
	delete(x.calls, st)
	x.c.Done(st)
	x.done++
}

// take returns what must be sent.
func (x *caller) take() []byte {
	out := x.c.AppendControl(x.out)
	x.out = nil
	return out
}

// echoer is a server of our own that sends bodies back.
type echoer struct {
	t    testing.TB
	rnd  *rand.Rand
	c    Conn
	cfg  Config
	echo map[*Stream]*framedEcho
	out  []byte
}

func newEchoer(t testing.TB, rnd *rand.Rand, cfg Config) *echoer {
	s := &echoer{t: t, rnd: rnd, cfg: cfg, echo: map[*Stream]*framedEcho{}}
	s.cfg.Fill()
	s.out = s.c.Begin(&s.cfg, nil)
	return s
}

func (s *echoer) read(in []byte) {
	for len(in) > 0 {
		var ev Event
		n := s.c.Read(in, 1, &ev)
		s.event(&ev)
		in = in[n:]
		if err := s.c.check(); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *echoer) event(ev *Event) {
	st := ev.Stream
	switch ev.Kind {
	case Head:
		var h msg.RequestHead
		h.Reset()
		if err := s.c.DecodeRequest(&h); err != nil {
			s.t.Fatal(err)
		}
		s.echo[st] = &framedEcho{}
		for range s.rnd.IntN(3) {
			s.out = s.c.AppendInterim(s.out, st, 103, nil)
		}
		var r head.Response
		r.Reset()
		if r.ContentLength = msg.LenChunked; h.ContentLength >= 0 {
			r.ContentLength = h.ContentLength
		}
		s.out = s.c.AppendHead(s.out, st, &r, head.Sender{Server: "gale", Date: testDate}, false)
	case Data:
		s.echo[st].body = append(s.echo[st].body, ev.Data...)
		s.c.Consumed(st, len(ev.Data))
	case Trailers:
		if err := s.c.DecodeTrailers(nil); err != nil {
			s.t.Fatal(err)
		}
	case None, Room:
		return
	default:
		s.t.Fatalf("event %d, code %v, local %v", ev.Kind, ev.Code, ev.Local)
	}
	if st.PeerEnded() {
		s.c.Queue(st)
		s.finish(st)
	}
}

// finish ends a response that is complete.
func (s *echoer) finish(st *Stream) {
	e := s.echo[st]
	if e.sent < len(e.body) || !st.PeerEnded() {
		return
	}
	var t head.Trailers
	var f msg.Fields
	if err := t.AddValue(&f, []byte("X-Sum"), strconv.AppendInt(nil, int64(len(e.body)), 10), msg.Normalized); err != nil {
		s.t.Fatal(err)
	}
	s.out = s.c.AppendTrailers(s.out, st, &t)
	delete(s.echo, st)
	s.c.Done(st)
}

func (s *echoer) take() []byte {
	for st := s.c.Next(); st != nil; st = s.c.Next() {
		e := s.echo[st]
		piece := min(len(e.body)-e.sent, 1+s.rnd.IntN(30000))
		var n int
		s.out, n = s.c.AppendData(s.out, st, e.body[e.sent:e.sent+piece], false)
		if e.sent += n; e.sent == len(e.body) {
			s.c.Unqueue(st)
			s.finish(st)
		}
	}
	out := s.c.AppendHeld(s.c.AppendControl(s.out))
	s.out = nil
	return out
}

// pieces gives b to read in random pieces.
func pieces(rnd *rand.Rand, most int, b []byte, read func([]byte)) {
	for len(b) > 0 {
		n := min(len(b), 1+rnd.IntN(most))
		read(b[:n:n])
		b = b[n:]
	}
}

// Both roles of this package talk to each other: bodies of all sizes, in both directions.
func TestClientConversation(t *testing.T) {
	seeds := uint64(8)
	if race.Enabled {
		seeds = 2
	}
	for seed := range seeds {
		rnd := rand.New(rand.NewPCG(seed, 2))
		x := newCaller(t, rnd, Config{Streams: 1 + rnd.IntN(60), StreamWindow: 1 + rnd.IntN(200000), TableSize: rnd.IntN(9000) - 100}, 150, 1<<18)
		s := newEchoer(t, rnd, Config{Streams: 1 + rnd.IntN(60), StreamWindow: 1 + rnd.IntN(200000), TableSize: rnd.IntN(9000) - 100})
		most := 1 + rnd.IntN(40000)
		for rounds := 0; x.done < 150; rounds++ {
			if rounds > 400000 {
				t.Fatalf("no progress: %d calls are done, %d run", x.done, len(x.calls))
			}
			if x.c.Greeted() { // before, the server's limit isn't known
				x.begin()
			}
			x.upload()
			pieces(rnd, most, x.take(), s.read)
			pieces(rnd, most, s.take(), x.read)
		}
		if x.c.Streams() != 0 || s.c.Streams() != 0 || x.left != 0 {
			t.Errorf("%d and %d streams are left", x.c.Streams(), s.c.Streams())
		}
	}
}

// A short conversation is the same wherever the bytes are split.
func TestClientConversationSplit(t *testing.T) {
	var lens [2]int
	play := func(cut, side int) {
		rnd := rand.New(rand.NewPCG(3, 3))
		x := newCaller(t, rnd, Config{}, 5, 50)
		s := newEchoer(t, rnd, Config{})
		at := [2]int{}
		give := func(b []byte, to int, read func([]byte)) {
			if n := cut - at[to]; to == side && n > 0 && n < len(b) {
				read(b[:n:n])
				read(b[n:])
			} else {
				read(b)
			}
			at[to] += len(b)
		}
		for rounds := 0; x.done < 5; rounds++ {
			if rounds > 1000 {
				t.Fatal("no progress")
			}
			if x.c.Greeted() {
				x.begin()
			}
			x.upload()
			give(x.take(), 0, s.read)
			give(s.take(), 1, x.read)
		}
		lens = at
	}
	play(0, 0)
	for side, n := range lens {
		for cut := 1; cut < n; cut++ {
			play(cut, side)
		}
	}
}

// The client talks to another implementation's server.
func TestClientForeignServer(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		n, err := io.Copy(w, r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Sum", fmt.Sprint(n))
	})
	for _, streams := range []int{1, 7, 100} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: echo, Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streams}}
		srv.Protocols.SetUnencryptedHTTP2(true)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = srv.Serve(l)
		}()
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		talk(t, nc, newCaller(t, rand.New(rand.NewPCG(uint64(streams), 5)), Config{}, 100, 1<<17))
		_ = nc.Close()
		_ = srv.Close()
		<-ended
	}
}

// talk lets x make its calls on nc. Other goroutines read and write, so that no side waits
// for the other.
func talk(t *testing.T, nc net.Conn, x *caller) {
	in := make(chan []byte)
	quit := make(chan struct{})
	defer close(quit)
	go func() {
		defer close(in)
		for {
			b := make([]byte, 8<<10)
			n, err := nc.Read(b)
			if err != nil {
				return
			}
			select {
			case in <- b[:n]:
			case <-quit:
				return
			}
		}
	}()
	out := make(chan []byte, 10000)
	defer close(out)
	go func() {
		for b := range out {
			if _, err := nc.Write(b); err != nil {
				return
			}
		}
	}()
	for x.done < 100 {
		for more := x.c.Greeted(); more; more = len(x.calls) == 0 { // the server only answers
			x.begin()
		}
		x.upload()
		if b := x.take(); len(b) > 0 {
			out <- b
		}
		b, ok := <-in
		if !ok {
			t.Fatalf("the server has closed the connection: %d calls are done", x.done)
		}
		x.read(b)
	}
	if x.c.Streams() != 0 {
		t.Errorf("%d streams are left", x.c.Streams())
	}
}
