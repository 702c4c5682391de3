package gale

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/pool/pooltest"
	"github.com/galehttp/gale/internal/race"
)

// stubConn is the connection that objects hold in these tests.
type stubConn struct{ net.Conn }

func (stubConn) Read([]byte) (int, error)    { return 0, io.EOF }
func (stubConn) Write(p []byte) (int, error) { return len(p), nil }
func (stubConn) Close() error                { return nil }
func (stubConn) Network() string             { return "stub" }
func (stubConn) String() string              { return "stub" }
func (stubConn) Printf(string, ...any)       {}

// keptText is the reason for memory that each method fills before it returns it.
const keptText = "scratch: every method that returns it fills it anew"

// trailerSection is the value that head.Trailers points to.
var trailerSection = reflect.New(reflect.TypeFor[head.Trailers]().Field(0).Type.Elem()).Elem().Interface()

// pooledFields describes the fields of this package's pooled objects.
func pooledFields() *pooltest.Check {
	return &pooltest.Check{
		Owned: []any{pool.Buf{}, trailerSection, sessionRare{}},
		Make: map[reflect.Type]func() any{
			// RemoveAll must not remove files, and no os.File must be closed.
			reflect.TypeFor[*multipart.Form](): func() any { return &multipart.Form{Value: map[string][]string{"a": {"b"}}} },
			reflect.TypeFor[*requestDone]():    func() any { return newRequestDone(context.Background()) },
			reflect.TypeFor[*pool.Buf]():       func() any { return &pool.Buf{B: []byte("canary")} },
		},
		Fit: map[reflect.Type]func(any){
			reflect.TypeFor[URI](): func(p any) { u := p.(*URI); u.validHost = min(u.validHost, len(u.buf)) },
		},
		Stubs: []any{stubConn{}, errors.New("canary"), struct{ engine.Conn }{}, struct{ exchange }{}, struct{ trailerSink }{}, context.Background(), struct{ UpgradeHandler }{}, struct{ door.Trailered }{}, struct{ door.TrailerLender }{}},
		Memory: []string{
			"gale.Args.buf",
			"gale.Cookie.buf",
			"gale.Cookie.domain",
			"gale.Cookie.key",
			"gale.Cookie.path",
			"gale.Cookie.value",
			"gale.Request.userValues",
			"gale.RequestCtx.hooks",
			"gale.RequestCtx.after",
			"gale.snapshot.values",
			"gale.URI.fullURI",
			"gale.URI.requestURI",
			"gale.content.body",
			"head.Trailers.s",
			"head.NameList.names",
			"head.NameList.text",
			"gale.pipeCall.bytes",
			"gale.RequestCtx.route", // its Reset has a test of its own
			"gale.snapshot.route",
			"kv.List.arena",
			"kv.List.pairs",
			"msg.Fields.Buf",
			"msg.Fields.Recs",
			"pool.Buf.B",
		},
		Cleared: []string{"head.NameList.slots"},
		Keep: map[string]string{
			// A context.
			"gale.RequestCtx.s":            "prepare and Init2 set it before anybody gets the context",
			"gale.RequestCtx.isTLS":        "prepare and Init2 set it before anybody gets the context",
			"gale.h1Message.body":          "Init sets all of it",
			"gale.Request.KeepBodyBuffer":  "the user's, for many uses: whoever gives a request back clears it",
			"gale.Response.KeepBodyBuffer": "the user's, for many uses: whoever gives a response back clears it",
			"gale.Request.call":            "roundTrip sets it back when it returns, also by a panic",
			"gale.Request.valueChanges":    "a count, which is compared only within one request",
			"gale.content.told":            "counts only with readErr, and is set with it",
			"gale.URI.buf":                 "memory, with the host that was found to be valid last: it is compared and never shown",
			"gale.URI.validHost":           "the length of that host",
			"msg.Fields.first":             "counts only where seen says so",
			"msg.Fields.last":              "what PutAgain compares with: lines that are compared and never shown",
			"head.Response.server":         "a slot: compared, and shown only where Implied says so",
			"head.Response.contentType":    "a slot: compared, and shown only where Implied says so",
			"head.Response.slotChanges":    "counts what the slots were given, for Opening, which is kept as well",
			"gale.ResponseHeader.opening":  "compared with the next response as a whole, see h1.Opening",
			"gale.ResponseHeader.digits":   keptText,
			"gale.RequestHeader.digits":    keptText,
			"gale.RequestHeader.get":       keptText,
			"gale.RequestHeader.text":      keptText,
			"gale.ResponseHeader.text":     keptText,
			"gale.h2Call.wake":             "empty: reset takes the token; a later one only makes a call look once more",
			"gale.h2Call.pokeFn":           "a method of the object itself",
			"gale.h1Sender.run":            "a method of the object itself",
			"gale.h1Sender.hears":          "a method of the object itself",
			"gale.h1Sender.idle":           "empty: reset takes the token",
			"gale.h1Sender.done":           "empty: reset takes the token",
			"gale.pipeCall.done":           "empty: who leaves a call that is done takes the value, see pipeLane.leave",
		},
		Guarded: map[string]string{
			"head.NameList.text":              "names are added with it",
			"head.NameList.slots":             "names are added with it",
			"gale.requestStream.own":          "used is set before it",
			"gale.requestStream.lent":         "used is set before it",
			"gale.requestStream.ss":           "used is set before it",
			"gale.requestStream.ctx":          "used is set before it",
			"gale.requestStream.w":            "used is set before it",
			"gale.requestStream.rest":         "used is set before it",
			"gale.requestStream.n":            "used is set before it",
			"gale.requestStream.section":      "used is set before it",
			"gale.requestStream.err":          "used is set before it",
			"gale.requestStream.limit":        "used is set before it",
			"gale.requestStream.stall":        "used is set before it",
			"gale.requestStream.until":        "used is set before it",
			"gale.requestStream.answered":     "used is set before it",
			"gale.requestStream.owesContinue": "used is set before it",
			"gale.requestStream.notAsked":     "used is set before it",
			"gale.requestStream.waits":        "used is set before it",
			"gale.requestStream.writes":       "used is set before it",
			"gale.requestStream.cut":          "used is set before it",
			"gale.requestStream.ended":        "used is set before it",
			"gale.h1Message.keep":             "beginFlush sets begun before it",
			"gale.h1Message.out":              "beginFlush sets begun before it",
			"gale.Request.uriParsed":          "uriUsed is set wherever it is",
			"gale.Request.keepsSlash":         "uriUsed is set wherever it is",
			"gale.Request.files":              "set with form; what TimeoutError leaves there, RequestCtx.reset drops",
			"gale.Request.uriBad":             "uriParsed is set with it, and uriUsed with that",
			"gale.content.shared":             "counts only with bodyRaw, and is set with it",
			"gale.content.readErr":            "set with bodyRaw or a form, see there",
			"gale.Request.uri":                "uriUsed is set by all that give it out or change it",
			"gale.Request.postArgs":           "postArgsParsed is set by all that give it out or change it",
			"gale.Request.formRaw":            "set with form only",
			"gale.Request.formSum":            "set with form only",
			"gale.Request.formBoundary":       "set with form only",
			"head.Request.Cookies":            "CookieState isn't CookiesUnread where there are any",
			"msg.Fields.puts":                 "counts records in Recs",
			"msg.Fields.seen":                 "has bits of records in Recs only",
			"msg.Fields.maybe":                "has bits of records in Recs, or too many, which cost a comparison",
			"msg.Fields.dead":                 "counts records",
			"msg.Fields.waste":                "counts bytes of Buf",
			"msg.Fields.Parts":                "lie in Buf",
			"gale.snapshot.values":            "set with req",
			"gale.snapshot.now":               "set with req",
			"gale.snapshot.remoteAddr":        "set with req",
		},
	}
}

// TestPooledForgets checks, field by field, that an object from a pool is like a new one.
func TestPooledForgets(t *testing.T) {
	if race.Enabled {
		t.Skip("with the race detector heads refuse to be reset with records that can't be, as this test makes them")
	}
	c := pooledFields()
	pooltest.Run(t, c, pooltest.Object[h1Message]{New: newH1Message, Forget: (*h1Message).reset})
	pooltest.Run(t, c, pooltest.Object[RequestCtx]{
		New: func() *RequestCtx {
			ctx := new(RequestCtx)
			ctx.reset()
			return ctx
		},
		Forget: (*RequestCtx).reset,
	})
	pooltest.Run(t, c, pooltest.Object[Request]{
		New:    func() *Request { r := new(Request); r.Reset(); return r },
		Forget: func(r *Request) { ReleaseRequest(r); pooltest.TakeBack(&requestPool, r) },
	})
	pooltest.Run(t, c, pooltest.Object[Response]{
		New:    func() *Response { r := new(Response); r.Reset(); return r },
		Forget: func(r *Response) { ReleaseResponse(r); pooltest.TakeBack(&responsePool, r) },
	})
	pooltest.Run(t, c, pooltest.Object[URI]{
		New:    func() *URI { return new(URI) },
		Forget: func(u *URI) { ReleaseURI(u); pooltest.TakeBack(&uriPool, u) },
	})
	pooltest.Run(t, c, pooltest.Object[Args]{
		New:    func() *Args { return new(Args) },
		Forget: func(a *Args) { ReleaseArgs(a); pooltest.TakeBack(&argsPool, a) },
	})
	pooltest.Run(t, c, pooltest.Object[Cookie]{
		New:    func() *Cookie { c := new(Cookie); c.Reset(); return c },
		Forget: func(c *Cookie) { ReleaseCookie(c); pooltest.TakeBack(&cookiePool, c) },
	})
	pooltest.Run(t, c, pooltest.Object[h1Session]{
		New: func() *h1Session { return new(h1Session) },
		Ready: func(ss *h1Session) {
			ss.shared = false
			if rare := ss.rare.Load(); rare != nil {
				rare.hijack = nil
			}
		},
		Forget: func(ss *h1Session) { ss.free(); pooltest.TakeBack(&sessions, ss) },
	})
	pooltest.Run(t, c, pooltest.Object[pipeCall]{
		New: func() *pipeCall { pc := pipeCalls.New().(*pipeCall); pc.resp.Reset(); return pc },
		Ready: func(pc *pipeCall) {
			pc.holds.Store(1)
			pc.bytes = &pool.Buf{B: []byte("canary")}
			pc.resp.writer = nil // the program gets a copy of resp
		},
		Forget: func(pc *pipeCall) { pc.drop(); pooltest.TakeBack(&pipeCalls, pc) },
	})
	pooltest.Run(t, c, pooltest.Object[h2Call]{
		New:    func() *h2Call { s := h2Calls.New().(*h2Call); s.reset(); return s },
		Ready:  func(s *h2Call) { s.sender, s.reader = nil, nil },
		Forget: func(s *h2Call) { s.release(); pooltest.TakeBack(&h2Calls, s) },
	})
	pooltest.Run(t, c, pooltest.Object[h1Sender]{
		New:    func() *h1Sender { return h1Senders.New().(*h1Sender) },
		Ready:  func(o *h1Sender) { o.holds.Store(1) },
		Forget: func(o *h1Sender) { o.drop(); pooltest.TakeBack(&h1Senders, o) },
	})
	pooltest.Run(t, c, pooltest.Object[chunkReader]{
		New:    func() *chunkReader { return new(chunkReader) },
		Forget: func(d *chunkReader) { d.release(); pooltest.TakeBack(&chunkReaders, d) },
	})
	pooltest.Run(t, c, pooltest.Object[chunkedBody]{
		New:    func() *chunkedBody { return new(chunkedBody) },
		Forget: func(d *chunkedBody) { d.release(); pooltest.TakeBack(&chunkedBodies, d) },
	})
	c.Unused(t)
}

// TestStreamForgets proves that a request's body stream holds nothing after it was shut.
func TestStreamForgets(t *testing.T) {
	for _, shut := range []func(*requestStream){
		(*requestStream).shut,
		func(r *requestStream) { r.rest = nil; r.tryYield() },
	} {
		pooltest.Run(t, &pooltest.Check{Stubs: []any{errors.New("canary")}}, pooltest.Object[requestStream]{
			New: func() *requestStream { return new(requestStream) },
			Ready: func(r *requestStream) { // h1Message.reset does that
				r.lent.Store(nil)
				r.own = ownBody{bodyHandle{r: r}}
				r.used, r.answered, r.err = false, false, nil
				r.limit.Store(0)
				r.clearFlags()
				r.owesContinue.Store(false)
			},
			Forget: shut,
		})
	}
}

// TestConnWaiterForgets proves that a request that waited for a connection leaves nothing
// in its connWaiter, whether it got one, gave up, or both at the same time.
func TestConnWaiterForgets(t *testing.T) {
	dials := room{kind: roomDial}
	for name, leave := range map[string]func(c *HostClient, k *call, w *connWaiter){
		"served": func(c *HostClient, k *call, w *connWaiter) {
			c.serve(w, dials)
			if got := c.await(k, w); got != dials {
				t.Errorf("%+v", got)
			}
		},
		"gave up": func(c *HostClient, k *call, w *connWaiter) {
			if got := c.leaveLine(w, ErrNoFreeConns); got.err != ErrNoFreeConns {
				t.Errorf("%+v", got)
			}
		},
		"gave up as it served": func(c *HostClient, k *call, w *connWaiter) {
			c.serve(w, dials)
			if got := c.leaveLine(w, ErrTimeout); got.err != ErrTimeout {
				t.Errorf("%+v", got)
			}
		},
	} {
		c := &HostClient{MaxConns: 1, MaxConnWaitTimeout: time.Minute}
		c.pool.open = 1
		var all []*connWaiter
		k := newCall(context.Background(), 0)
		for range 3 {
			k.number = 0
			got, w := c.reserve(&k, &c.pool.line)
			if w == nil {
				t.Fatal(got.err)
			}
			all = append(all, w)
		}
		leave(c, &k, all[0])
		if w := all[0]; len(w.ready) > 0 || *w != (connWaiter{ready: w.ready}) {
			t.Errorf("%s: a connWaiter that was given back is %+v with %d values", name, w, len(w.ready))
		}
		pooltest.TakeBack(&connWaiters, all[0])
	}
}

// TestClientConnForgets proves that an idle connection holds only its own state, and
// nothing of a request or a response.
func TestClientConnForgets(t *testing.T) {
	own := "the connection's own"
	check := &pooltest.Check{
		Owned: []any{pool.Buf{}},
		Make: map[reflect.Type]func() any{
			reflect.TypeFor[*pool.Buf](): func() any { return &pool.Buf{B: append(make([]byte, 0, clientconn.ReadRoom), "canary"...)} },
		},
		Stubs: []any{stubConn{}, errors.New("canary"), struct{ syscall.RawConn }{}},
		Keep: map[string]string{
			"clientconn.Conn.nc": own, "clientconn.Conn.hooks": own, "gale.clientConn.upstream": own, "clientconn.Conn.read": own, "clientconn.Conn.write": own,
			"clientconn.Conn.lazy": own, "clientconn.Conn.tls": own, "clientconn.Conn.raw": own, "clientconn.Conn.probe": own,
			"gale.clientConn.created": own, "gale.clientConn.lastUse": own, "gale.clientConn.served": own, "clientconn.Conn.wasIdle": own,
			"clientconn.Conn.onCancel": own, "clientconn.Conn.closed": own, "clientconn.swapper.onReady": own,
			"clientconn.Conn.healthy": "probe sets it before Alive looks",
			"gale.clientConn.sender":  "endSending empties it before a connection is given back",
			"clientconn.Conn.stirred": "Calm empties it",
			"clientconn.Conn.halted":  "ResumeWrites empties it, or the connection is closed",
			"clientconn.Conn.deaf":    "each Stir sets it, and it is looked at only after that",
			"clientconn.Conn.onStir":  "Calm empties it",
			"clientconn.Conn.vec":     "WriteBoth empties it when it returns",
			"clientconn.Conn.bufs":    "WriteBoth empties it when it returns",
			"clientconn.Conn.readErr": "Fill returns it, so that the exchange fails and the connection is closed",
			"clientconn.trier.onTry":  own, "gale.clientConn.isH2": own, "gale.clientConn.c": own, "gale.clientConn.idle": "take clears it",
			"clientconn.trier.b":       "TryWrite empties it when it returns",
			"clientconn.trier.n":       "TryWrite sets it first",
			"clientconn.trier.err":     "TryWrite empties it when it returns",
			"clientconn.swapper.wrote": "Swap begins with a new swapper",
			"clientconn.swapper.asked": "Swap begins with a new swapper",
			"clientconn.swapper.n":     "Swap begins with a new swapper",
			"clientconn.swapper.err":   "Swap begins with a new swapper",
		},
		Guarded: map[string]string{"clientconn.Conn.r": "an offset into buf"},
	}
	pooltest.Run(t, check, pooltest.Object[clientConn]{
		New: func() *clientConn { return new(clientConn) },
		Forget: func(cc *clientConn) {
			c := &HostClient{}
			c.pool.armed = true // no sweeper
			c.release(cc)
			if b := c.pool.bufs.bufs[0]; b != nil && len(b.B) > 0 {
				t.Errorf("a spare buffer holds %q", b.B)
			}
		},
	})
	check.Unused(t)
}

// TestBufferedForget proves that buffered readers and writers in a pool hold nothing, not
// even an error.
func TestBufferedForget(t *testing.T) {
	check := &pooltest.Check{
		Stubs: []any{stubConn{}, errors.New("canary")},
		Keep: map[string]string{
			"bufio.Reader.buf":          "memory",
			"bufio.Reader.lastByte":     "Reset sets it, to another value than in a new one",
			"bufio.Reader.lastRuneSize": "Reset sets it, to another value than in a new one",
			"bufio.Writer.buf":          "memory",
		},
	}
	c := &HostClient{}
	pooltest.Run(t, check, pooltest.Object[bufio.Reader]{
		New:    func() *bufio.Reader { return new(bufio.Reader) },
		Forget: func(br *bufio.Reader) { c.ReleaseReader(br) },
	})
	pooltest.Run(t, check, pooltest.Object[bufio.Writer]{
		New:    func() *bufio.Writer { return new(bufio.Writer) },
		Forget: func(bw *bufio.Writer) { c.ReleaseWriter(bw) },
	})
	var used *bufio.Writer
	sw := func(w *bufio.Writer) {
		used = w
		w.WriteString(strings.Repeat("canary", 10_000))
	}
	out := &bodyOut{Promised: head.Promised{Left: -1}, w: &engine.Work{}, in: new(requestStream), ss: &h1Session{serverConn: serverConn{c: brokenEngineConn{}}}}
	if err := runStreamWriter(out, sw); err == nil {
		t.Error("writing did not fail")
	}
	wantEndedWriter(t, used)
	wantEmptyWriter(t, bufioPool.Get().(*bufio.Writer))
	encodingStreamWriter(sw, compress.Gzip, 1)(bufio.NewWriterSize(brokenWriter{}, 16))
	wantEndedWriter(t, used)
	wantEmptyWriter(t, streamBuffers.Get().(*bufio.Writer))
	check.Unused(t)
}

// wantEndedWriter checks that bw, the writer of a body that has ended, refers to nothing.
func wantEndedWriter(t *testing.T, bw *bufio.Writer) {
	t.Helper()
	_, err1 := bw.WriteString("canary")
	_, err2 := bw.ReadFrom(strings.NewReader("canary"))
	for _, err := range []error{err1, err2, bw.WriteByte('c'), bw.Flush()} {
		if err != errWriterEnded {
			t.Errorf("the writer of a body that has ended returned %v", err)
		}
	}
	if room := cap(bw.AvailableBuffer()); room > 0 {
		t.Errorf("it has room for %d bytes", room)
	}
}

func wantEmptyWriter(t *testing.T, bw *bufio.Writer) {
	t.Helper()
	if bw.Buffered() > 0 {
		t.Errorf("a writer that was given back holds %d bytes", bw.Buffered())
	}
	var got strings.Builder
	bw.WriteString("x")
	bw.Reset(&got)
	bw.WriteString("y")
	if err := bw.Flush(); err != nil || got.String() != "y" {
		t.Errorf("a writer that was given back writes %q, %v", &got, err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

// flushes counts calls of Flush.
type flushes struct {
	engine.Conn
	in    *requestStream
	n     int
	heard int // calls during which interrupt hears of a write
}

func (f *flushes) Flush(w *engine.Work) error {
	f.n++
	if f.in.writes.Load() {
		f.heard++
	}
	w.Out = w.Out[:0]
	return nil
}

// A Read of a body counts as one that writes while it writes, and only then: a request that times
// out breaks the connection of a Read that writes.
func TestReadThatWritesNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		out  string
		owes bool
		cut  bool
		want int
		err  error
	}{
		{name: "nothing"},
		{name: "a response", out: "x", want: 1},
		{name: "a 100", owes: true, want: 1},
		{name: "cut", out: "x", cut: true, err: errStreamClosed},
	} {
		in := new(requestStream)
		c := &flushes{in: in}
		in.ss, in.w = &h1Session{serverConn: serverConn{c: c}}, &engine.Work{Out: []byte(tt.out)}
		in.owesContinue.Store(tt.owes)
		in.cut.Store(tt.cut)
		in.waits.Store(true)
		if err := in.flush(); err != tt.err || c.n != tt.want || c.heard != tt.want || in.writes.Load() {
			t.Errorf("%s: %v after %d writes, %d of them heard of; want %v, %d", tt.name, err, c.n, c.heard, tt.err, tt.want)
		}
	}
}

type brokenEngineConn struct{ engine.Conn }

func (brokenEngineConn) WriteBody(*engine.Work, []byte) error { return errors.New("broken") }
func (brokenEngineConn) Flush(*engine.Work) error             { return errors.New("broken") }

// TestSharedSessionStays proves that a session isn't used again if a kept context refers
// to it, or if its connection was taken over.
func TestSharedSessionStays(t *testing.T) {
	for name, change := range map[string]func(*h1Session){
		"a context was left": func(ss *h1Session) { ss.shared = true },
		"hijacked":           func(ss *h1Session) { ss.extra().hijack = func(net.Conn) {} },
	} {
		ss := &h1Session{}
		ss.id = 7
		change(ss)
		ss.free()
		if ss.id != 7 {
			t.Errorf("%s: the session was emptied", name)
		}
		for range 100 {
			if sessions.Get() == any(ss) {
				t.Errorf("%s: the session was given back", name)
			}
		}
	}
}
