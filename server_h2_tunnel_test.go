package gale

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// connect sends an extended CONNECT.
func (c *h2Conn) connect(path string) uint32 {
	c.t.Helper()
	return c.open("CONNECT", path, false, ":protocol", "websocket")
}

// wantEnd checks how the server ends a stream.
func (c *h2Conn) wantEnd(stream uint32, kind string, code http2.ErrCode) {
	c.t.Helper()
	if f := c.await(stream, "rst", "end"); f.kind != kind || f.code != uint32(code) {
		c.t.Fatalf("stream %d ended with %v, want %s %v", stream, f, kind, code)
	}
}

// tunnelServer serves /taken by giving the stream to the test, and other paths by plain
// responses.
func tunnelServer(t *testing.T, way h2Way, s *Server) (hs *h2Server, taken chan net.Conn) {
	taken = make(chan net.Conn, 16)
	s.HTTP2.WebSocket = true
	s.KeepHijackedConns = true
	s.Handler = func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/taken":
			ctx.Response.Header.Set("X-Field", "v")
			ctx.Hijack(func(nc net.Conn) { taken <- nc })
		case "/now":
			nc, err := ctx.HijackNow()
			if err != nil {
				t.Errorf("HijackNow: %v", err)
			}
			if _, err := ctx.HijackNow(); err != ErrNilConnection {
				t.Errorf("the second HijackNow: %v", err)
			}
			taken <- nc
		case "/forbidden":
			ctx.Hijack(func(net.Conn) { t.Error("a refused stream was handed over") })
			ctx.Error("not you", StatusForbidden)
		default:
			fmt.Fprintf(ctx, "%s %q %s %s", ctx.Method(), ctx.ConnectProtocol(), ctx.Path(), ctx.Host())
		}
	}
	return way.start(t, s), taken
}

// get returns the taken stream, which is closed at the end of the test.
func getTaken(t *testing.T, taken chan net.Conn) net.Conn {
	t.Helper()
	select {
	case nc := <-taken:
		t.Cleanup(func() { nc.Close() })
		return nc
	case <-time.After(time.Minute):
		t.Fatal("the stream wasn't handed over")
		return nil
	}
}

// TestTunnelAdvertised proves that SETTINGS has ENABLE_CONNECT_PROTOCOL only if the server
// is set so, and that without it :protocol is a stream error.
func TestTunnelAdvertised(t *testing.T) {
	for _, on := range []bool{false, true} {
		hs := h2Way{EngineBlock, false}.start(t, &Server{HTTP2: HTTP2Config{WebSocket: on}, Handler: func(ctx *RequestCtx) { ctx.SetStatusCode(StatusForbidden) }})
		c := hs.dialH2()
		f, err := c.fr.ReadFrame()
		c.check(err)
		v, ok := f.(*http2.SettingsFrame).Value(http2.SettingEnableConnectProtocol)
		if ok != on || on && v != 1 {
			t.Errorf("WebSocket=%v: the setting is %d, %v", on, v, ok)
		}
		id := c.connect("/")
		if f := c.await(id, "rst", "403"); (f.kind == "403") != on || !on && f.code != uint32(http2.ErrCodeProtocol) {
			t.Errorf("WebSocket=%v: the server answered %v", on, f)
		}
		c.wantAnswer(c.open("GET", "/", true), "403", "")
	}
}

// TestTunnelRequest proves what handlers see, how requests are refused, and that the next
// stream sees nothing of it.
func TestTunnelRequest(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs, _ := tunnelServer(t, way, &Server{})
		c := hs.dialH2()
		for range 3 {
			c.wantAnswer(c.connect("/plain?a=b"), "200", `CONNECT "websocket" /plain h`)
			c.wantAnswer(c.open("GET", "/plain", true), "200", `GET "" /plain h`)
		}
		id := c.open("CONNECT", "/plain", false, ":protocol", "WebSocket")
		c.data(id, "early", false)
		c.wantAnswer(id, "200", `CONNECT "websocket" /plain h`)
		c.wantEnd(id, "rst", http2.ErrCodeNo)
		if status, _, body := c.answer(c.connect("/forbidden")); status != "403" || body != "not you" {
			t.Errorf("a refusal is %s %q", status, body)
		}
		if status, _, _ := c.answer(c.open("CONNECT", "/plain", false, ":protocol", "connect-udp")); status != "501" {
			t.Errorf("another protocol is answered with %s", status)
		}
		for name, fields := range map[string][]string{
			"GET with :protocol":       {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "h", ":protocol", "websocket"},
			"no :path":                 {":method", "CONNECT", ":scheme", "http", ":authority", "h", ":protocol", "websocket"},
			"no :scheme":               {":method", "CONNECT", ":path", "/", ":authority", "h", ":protocol", "websocket"},
			"no :authority":            {":method", "CONNECT", ":scheme", "http", ":path", "/", ":protocol", "websocket", "host", "h"},
			"two :protocol":            {":method", "CONNECT", ":scheme", "http", ":path", "/", ":authority", "h", ":protocol", "websocket", ":protocol", "websocket"},
			"an empty :protocol":       {":method", "CONNECT", ":scheme", "http", ":path", "/", ":authority", "h", ":protocol", ""},
			"Connection":               {":method", "CONNECT", ":scheme", "http", ":path", "/", ":authority", "h", ":protocol", "websocket", "connection", "upgrade"},
			"* as :path":               {":method", "CONNECT", ":scheme", "http", ":path", "*", ":authority", "h", ":protocol", "websocket"},
			"CONNECT without protocol": {":method", "CONNECT", ":authority", "h:1"},
		} {
			id := c.openFields(fields...)
			if f := c.await(id, "rst", "200", "501"); f.kind != "rst" && name != "CONNECT without protocol" || f.kind == "rst" && f.code != uint32(http2.ErrCodeProtocol) {
				t.Errorf("%s: the server answered %v", name, f)
			}
		}
		c.wantAlive()
	})
}

// openFields sends a head that has only these fields.
func (c *h2Conn) openFields(fields ...string) uint32 {
	c.t.Helper()
	c.last += 2
	c.head.Reset()
	for i := 0; i < len(fields); i += 2 {
		c.check(c.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	c.check(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: c.last, BlockFragment: c.head.Bytes(), EndHeaders: true}))
	return c.last
}

// TestTunnelData proves that data goes both ways, that each side can end first, and that
// the stream is gone afterwards.
func TestTunnelData(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs, taken := tunnelServer(t, way, &Server{ReadTimeout: time.Second / 4, WriteTimeout: time.Second / 4})
		c := hs.dialH2()
		for _, path := range []string{"/taken", "/now"} {
			id := c.connect(path)
			c.data(id, "early ", false)
			nc := getTaken(t, taken)
			f := c.await(id, "200")
			if f.end || f.fields["content-length"] != "" || f.fields["content-type"] != "" || path == "/taken" && f.fields["x-field"] != "v" {
				t.Errorf("the head is %v", f)
			}
			c.data(id, "bytes", false)
			want(t, nc, "early bytes")
			if _, secure := nc.(interface{ ConnectionState() tls.ConnectionState }); secure != way.tls {
				t.Errorf("the stream has TLS: %v", secure)
			}
			if nc.RemoteAddr().String() != c.LocalAddr().String() || nc.LocalAddr().String() != hs.addr {
				t.Errorf("the addresses are %v and %v", nc.LocalAddr(), nc.RemoteAddr())
			}
			put(t, nc, "hello")
			if f := c.await(id, "data"); f.data != "hello" || f.end {
				t.Errorf("the client got %v", f)
			}
			c.data(id, "last", true)
			want(t, nc, "last")
			if n, err := nc.Read(make([]byte, 9)); n != 0 || err != io.EOF {
				t.Errorf("Read at the end: %d, %v", n, err)
			}
			put(t, nc, "more")
			if f := c.await(id, "data"); f.data != "more" || f.end {
				t.Errorf("the client got %v after it has ended its side", f)
			}
			if err := nc.Close(); err != nil {
				t.Error(err)
			}
			c.wantEnd(id, "data", 0)
			if _, err := nc.Read(make([]byte, 9)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Read after Close: %v", err)
			}
			if _, err := nc.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write after Close: %v", err)
			}
			if err := nc.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a second Close: %v", err)
			}
			c.wantAnswer(c.open("GET", "/plain", true), "200", `GET "" /plain h`)
		}

		id := c.connect("/taken") // the server ends first, and the client goes on
		nc := getTaken(t, taken)
		if err := nc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		c.wantEnd(id, "data", 0)
		c.data(id, "still", false)
		want(t, nc, "still")
		nc.Close()
		c.data(id, "too late", false)
		c.wantEnd(id, "rst", http2.ErrCodeNo)

		id = c.connect("/taken") // both end
		nc = getTaken(t, taken)
		nc.Close()
		c.wantEnd(id, "data", 0)
		c.data(id, "", true)
		c.sync()
		for _, f := range c.got {
			if f.kind == "rst" && f.stream == id {
				t.Errorf("a stream that both have ended was reset: %v", f)
			}
		}
		hs.wantStreams(0)
		c.wantAlive()
	})
}

// wantStreams waits until n streams are open on all connections of HTTP/2.
func (hs *h2Server) wantStreams(n int) {
	hs.t.Helper()
	await(hs.t, fmt.Sprintf("%d streams", n), func() bool {
		l := &hs.s.run.h2
		l.mu.Lock()
		defer l.mu.Unlock()
		has := 0
		for ss := l.first; ss != nil; ss = ss.after {
			ss.mu.Lock()
			has += ss.proto.Streams()
			ss.mu.Unlock()
		}
		return has == n
	})
}

func want(t *testing.T, r io.Reader, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(r, b); err != nil || string(b) != text {
		t.Fatalf("read %q, %v, want %q", b, err, text)
	}
}

func put(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if n, err := io.WriteString(w, text); n != len(text) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

// TestTunnelReset proves that resets in both directions are told, and that a lost connection
// is.
func TestTunnelReset(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs, taken := tunnelServer(t, way, &Server{})
		c := hs.dialH2()
		id := c.connect("/taken")
		nc := getTaken(t, taken)
		failed := make(chan error, 1)
		go func() {
			_, err := nc.Read(make([]byte, 1))
			failed <- err
		}()
		c.data(id, "", false)
		c.check(c.fr.WriteRSTStream(id, http2.ErrCodeCancel))
		var reset *StreamResetError
		if err := <-failed; !errors.As(err, &reset) || reset.Code != uint32(http2.ErrCodeCancel) {
			t.Errorf("Read after a reset: %v", err)
		}
		if _, err := nc.Write([]byte("x")); !errors.As(err, &reset) {
			t.Errorf("Write after a reset: %v", err)
		}
		hs.wantStreams(1) // until Close
		nc.Close()
		hs.wantStreams(0)

		id = c.connect("/taken") // the server resets
		nc = getTaken(t, taken)
		check(t, nc.(interface{ SetLinger(int) error }).SetLinger(0))
		nc.Close()
		c.wantEnd(id, "rst", http2.ErrCodeCancel)
		hs.wantStreams(0)

		id = c.connect("/taken") // trailers aren't allowed
		nc = getTaken(t, taken)
		c.head.Reset()
		c.check(c.enc.WriteField(hpack.HeaderField{Name: "x", Value: "y"}))
		c.check(c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.head.Bytes(), EndHeaders: true, EndStream: true}))
		c.wantEnd(id, "rst", http2.ErrCodeProtocol)
		if _, err := nc.Read(make([]byte, 1)); !errors.As(err, &reset) {
			t.Errorf("Read after trailers: %v", err)
		}
		nc.Close()
		c.wantAlive()

		c.connect("/taken")
		nc = getTaken(t, taken)
		go func() {
			_, err := nc.Read(make([]byte, 1))
			failed <- err
		}()
		c.Close()
		if err := <-failed; err == nil || err == io.EOF {
			t.Errorf("Read after the loss of the connection: %v", err)
		}
		nc.Close()
		hs.wantStreams(0)
	})
}

// TestTunnelBulk proves that a MiB goes each way at once, and that a slow reader stops only
// the writer of its own stream.
func TestTunnelBulk(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs, taken := tunnelServer(t, way, &Server{})
		c := hs.dialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		c.check(c.fr.WriteWindowUpdate(0, 4<<20))
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		id := c.connect("/taken")
		nc := getTaken(t, taken)
		done := make(chan error, 2)
		go func() {
			got := make([]byte, len(big))
			_, err := io.ReadFull(nc, got)
			if err == nil && !bytes.Equal(got, big) {
				err = errors.New("the bytes differ")
			}
			done <- err
		}()
		go func() {
			_, err := nc.Write(big)
			done <- err
		}()
		window, connWindow, sent := 64<<10, 15<<20, 0
		var got []byte
		for sent < len(big) || len(got) < len(big) {
			if n := min(window, connWindow, len(big)-sent, 16<<10); n > 0 {
				c.data(id, string(big[sent:sent+n]), false)
				sent, window, connWindow = sent+n, window-n, connWindow-n
				continue
			}
			switch f := c.next(); {
			case f.kind == "window" && f.stream == id:
				window += int(f.code)
			case f.kind == "data":
				got = append(got, f.data...)
			case f.kind == "eof", f.kind == "rst":
				t.Fatalf("%v after %d and %d bytes", f, sent, len(got))
			}
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if !bytes.Equal(got, big) {
			t.Error("the bytes of the server differ")
		}

		other := c.connect("/taken") // the window of this stream is used up
		slow := getTaken(t, taken)
		go func() {
			_, err := slow.Write(append(big, "end"...))
			done <- err
		}()
		for n := 0; n < 1<<20; {
			n += len(c.await(other, "data").data)
		}
		c.check(c.fr.WriteWindowUpdate(id, 100))
		put(t, nc, "others go on")
		if f := c.await(id, "data"); f.data != "others go on" {
			t.Errorf("the other stream got %v", f)
		}
		c.wantAlive()
		c.check(c.fr.WriteWindowUpdate(other, 3))
		if f := c.await(other, "data"); f.data != "end" {
			t.Errorf("the slow stream got %v", f)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestTunnelDeadlines proves that deadlines end a Read and a Write that wait, and that the
// stream can be used afterwards.
func TestTunnelDeadlines(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs, taken := tunnelServer(t, way, &Server{})
		c := hs.dialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		id := c.connect("/taken")
		nc := getTaken(t, taken)
		failed := make(chan error, 2)
		late := func(what string) {
			t.Helper()
			err := <-failed
			if ne, ok := err.(net.Error); !errors.Is(err, os.ErrDeadlineExceeded) || !ok || !ne.Timeout() {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, at := range []time.Duration{-time.Hour, time.Millisecond, 20 * time.Millisecond} {
			go func() {
				_, err := nc.Read(make([]byte, 1))
				failed <- err
			}()
			check(t, nc.SetReadDeadline(time.Now().Add(time.Hour)))
			check(t, nc.SetReadDeadline(time.Now().Add(at)))
			late("Read")
		}
		check(t, nc.SetReadDeadline(time.Time{}))
		c.data(id, "on", false)
		want(t, nc, "on")

		sent := make(chan int, 1)
		go func() {
			n, err := nc.Write([]byte("0123456789abcdef"))
			sent <- n
			failed <- err
		}()
		if f := c.await(id, "data"); f.data != "0123456789" {
			t.Errorf("the client got %v", f)
		}
		check(t, nc.SetDeadline(time.Now().Add(-time.Second)))
		if n := <-sent; n != 10 {
			t.Errorf("%d bytes were written", n)
		}
		late("Write")
		check(t, nc.SetDeadline(time.Time{}))
		c.check(c.fr.WriteWindowUpdate(id, 100))
		put(t, nc, "abcdef")
		if f := c.await(id, "data"); f.data != "abcdef" {
			t.Errorf("the client got %v", f)
		}

		c.check(c.fr.WriteWindowUpdate(id, 100)) // now Close ends a Write
		go func() {
			_, err := nc.Write(bytes.Repeat([]byte("x"), 1000))
			failed <- err
		}()
		c.await(id, "data")
		tun := tunnelOf(nc)
		await(t, "a Write that waits", func() bool {
			tun.s.ss.mu.Lock()
			defer tun.s.ss.mu.Unlock()
			return tun.waits
		})
		nc.Close()
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write during Close: %v", err)
		}
		c.wantEnd(id, "rst", http2.ErrCodeCancel)
		if err := nc.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("SetDeadline after Close: %v", err)
		}
		hs.wantStreams(0)
	})
}

func tunnelOf(nc net.Conn) *h2Tunnel {
	if t, ok := nc.(h2TunnelTLS); ok {
		return t.h2Tunnel
	}
	return nc.(*h2Tunnel)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTunnelLinger proves that a stream whose client doesn't end it is reset some time after
// Close.
func TestTunnelLinger(t *testing.T) {
	hs, taken := tunnelServer(t, h2Way{EngineEvent, false}, &Server{})
	c := hs.dialH2()
	id := c.connect("/taken")
	nc := getTaken(t, taken)
	nc.Close()
	c.wantEnd(id, "data", 0)
	tun := tunnelOf(nc)
	tun.s.ss.mu.Lock()
	tun.lingerDue = 1 // long ago
	tun.s.ss.mu.Unlock()
	tun.s.ss.wake()
	c.wantEnd(id, "rst", http2.ErrCodeNo)
	hs.wantStreams(0)
}

// TestTunnelShutdown proves that Shutdown waits for streams that were taken over, and that
// Close ends them.
func TestTunnelShutdown(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		hs, taken := tunnelServer(t, way, &Server{})
		c := hs.dialH2()
		id := c.connect("/taken")
		nc := getTaken(t, taken)
		c.await(id, "200")
		down := make(chan error, 1)
		go func() { down <- hs.s.Shutdown() }()
		c.await(0, "goaway")
		put(t, nc, "still here")
		if f := c.await(id, "data"); f.data != "still here" {
			t.Errorf("the client got %v", f)
		}
		c.data(id, "yes", false)
		want(t, nc, "yes")
		select {
		case err := <-down:
			t.Fatalf("Shutdown returned while a stream was open: %v", err)
		default:
		}
		nc.Close()
		c.wantEnd(id, "data", 0)
		c.data(id, "", true)
		if err := <-down; err != nil {
			t.Error(err)
		}
	})
	hs, taken := tunnelServer(t, h2Way{EngineEvent, false}, &Server{})
	c := hs.dialH2()
	c.connect("/taken")
	nc := getTaken(t, taken)
	hs.s.Close()
	if _, err := nc.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("Read after Close of the server: %v", err)
	}
}

// TestTunnelHandlers proves what follows from handlers that panic, time out, or end after
// they have taken a stream over, and that the hooks run.
func TestTunnelHandlers(t *testing.T) {
	eachH2(t, func(t *testing.T, way h2Way) {
		taken := make(chan net.Conn, 1)
		after := make(chan error, 8)
		log := &testLog{}
		slow := make(chan struct{})
		s := &Server{Logger: log, HTTP2: HTTP2Config{WebSocket: true}}
		s.BeforeSend = func(ctx *RequestCtx) { ctx.Response.Header.Set("X-Hook", "ran") }
		s.Handler = func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/panics":
				nc, err := ctx.HijackNow()
				if err != nil {
					t.Error(err)
				}
				taken <- nc
				panic("after HijackNow")
			case "/hijack-panics":
				ctx.Hijack(func(nc net.Conn) { panic("in the HijackHandler") })
			case "/refuses":
				ctx.SetStatusCode(StatusNotFound)
				if _, err := ctx.HijackNow(); err == nil {
					t.Error("HijackNow with a 404")
				}
			case "/after":
				ctx.AfterSend(func(_ int64, err error) { after <- err })
				ctx.Hijack(func(nc net.Conn) { want(t, nc, "x") })
			case "/flushed":
				ctx.WriteString("flushed ")
				check(t, ctx.Flush())
				ctx.Hijack(func(nc net.Conn) { put(t, nc, "tunneled") })
			default:
				ctx.WriteString("ok")
			}
		}
		timed := TimeoutHandler(func(ctx *RequestCtx) {
			nc, err := ctx.HijackNow()
			if err != nil {
				t.Error(err)
			}
			taken <- nc
			<-slow
		}, 10*time.Millisecond, "too slow")
		plain := s.Handler
		s.Handler = func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/timed" {
				timed(ctx)
				return
			}
			plain(ctx)
		}
		hs := way.start(t, s)
		c := hs.dialH2()

		id := c.connect("/panics")
		nc := <-taken
		if f := c.await(id, "200"); f.fields["x-hook"] != "ran" {
			t.Errorf("the hook didn't run: %v", f)
		}
		await(t, "the log", func() bool { return strings.Contains(log.String(), "after HijackNow") })
		c.data(id, "x", false)
		want(t, nc, "x")
		nc.Close()
		c.wantEnd(id, "data", 0)
		c.data(id, "", true)

		id = c.connect("/timed")
		nc = <-taken
		c.await(id, "200")
		put(t, nc, "mine")
		if f := c.await(id, "data"); f.data != "mine" {
			t.Errorf("the client got %v", f)
		}
		close(slow)
		nc.Close()
		c.data(id, "", true)

		id = c.connect("/hijack-panics")
		c.wantEnd(id, "data", 0)
		c.data(id, "", true)
		await(t, "the log", func() bool { return strings.Contains(log.String(), "in the HijackHandler") })

		if status, _, _ := c.answer(c.connect("/refuses")); status != "404" {
			t.Errorf("the answer is %s", status)
		}
		id = c.connect("/after")
		c.await(id, "200")
		if err := <-after; err != nil {
			t.Errorf("AfterSend got %v", err)
		}
		c.data(id, "x", true)
		c.wantEnd(id, "data", 0)
		id = c.connect("/flushed")
		c.wantAnswer(id, "200", "flushed tunneled")
		c.data(id, "", true)
		c.wantAnswer(c.open("GET", "/", true), "200", "ok")
		hs.wantStreams(0)
	})
}
