package h2

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestTunnelAdvertised proves that SETTINGS has ENABLE_CONNECT_PROTOCOL only if the server
// is set so, and that without it :protocol is a stream error.
func TestTunnelAdvertised(t *testing.T) {
	for _, on := range []bool{false, true} {
		hs := harness.H2Way{Engine: gale.EngineBlock, TLS: false}.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{WebSocket: on}, Handler: func(ctx *gale.RequestCtx) { ctx.SetStatusCode(gale.StatusForbidden) }})
		c := hs.DialH2()
		f, err := c.Fr.ReadFrame()
		c.Check(err)
		v, ok := f.(*http2.SettingsFrame).Value(http2.SettingEnableConnectProtocol)
		if ok != on || on && v != 1 {
			t.Errorf("WebSocket=%v: the setting is %d, %v", on, v, ok)
		}
		id := c.Connect("/")
		if f := c.Await(id, "rst", "403"); (f.Kind == "403") != on || !on && f.Code != uint32(http2.ErrCodeProtocol) {
			t.Errorf("WebSocket=%v: the server answered %v", on, f)
		}
		c.WantAnswer(c.Open("GET", "/", true), "403", "")
	}
}

// TestTunnelRequest proves what handlers see, how requests are refused, and that the next
// stream sees nothing of it.
func TestTunnelRequest(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs, _ := harness.TunnelServer(t, way, &gale.Server{})
		c := hs.DialH2()
		for range 3 {
			c.WantAnswer(c.Connect("/plain?a=b"), "200", `CONNECT "websocket" /plain h`)
			c.WantAnswer(c.Open("GET", "/plain", true), "200", `GET "" /plain h`)
		}
		id := c.Open("CONNECT", "/plain", false, ":protocol", "WebSocket")
		c.Data(id, "early", false)
		c.WantAnswer(id, "200", `CONNECT "websocket" /plain h`)
		c.WantEnd(id, "rst", http2.ErrCodeNo)
		if status, _, body := c.Answer(c.Connect("/forbidden")); status != "403" || body != "not you" {
			t.Errorf("a refusal is %s %q", status, body)
		}
		if status, _, _ := c.Answer(c.Open("CONNECT", "/plain", false, ":protocol", "connect-udp")); status != "501" {
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
			id := c.OpenFields(fields...)
			if f := c.Await(id, "rst", "200", "501"); f.Kind != "rst" && name != "CONNECT without protocol" || f.Kind == "rst" && f.Code != uint32(http2.ErrCodeProtocol) {
				t.Errorf("%s: the server answered %v", name, f)
			}
		}
		c.WantAlive()
	})
}

// TestTunnelData proves that data goes both ways, that each side can end first, and that
// the stream is gone afterwards.
func TestTunnelData(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs, taken := harness.TunnelServer(t, way, &gale.Server{ReadTimeout: time.Second / 4, WriteTimeout: time.Second / 4})
		c := hs.DialH2()
		for _, path := range []string{"/taken", "/now"} {
			id := c.Connect(path)
			c.Data(id, "early ", false)
			nc := peers.GetTaken(t, taken)
			f := c.Await(id, "200")
			if f.End || f.Fields["content-length"] != "" || f.Fields["content-type"] != "" || path == "/taken" && f.Fields["x-field"] != "v" {
				t.Errorf("the head is %v", f)
			}
			c.Data(id, "bytes", false)
			peers.Want(t, nc, "early bytes")
			if _, secure := nc.(interface{ ConnectionState() tls.ConnectionState }); secure != way.TLS {
				t.Errorf("the stream has TLS: %v", secure)
			}
			if nc.RemoteAddr().String() != c.LocalAddr().String() || nc.LocalAddr().String() != hs.Addr {
				t.Errorf("the addresses are %v and %v", nc.LocalAddr(), nc.RemoteAddr())
			}
			peers.Put(t, nc, "hello")
			if f := c.Await(id, "data"); f.Data != "hello" || f.End {
				t.Errorf("the client got %v", f)
			}
			c.Data(id, "last", true)
			peers.Want(t, nc, "last")
			if n, err := nc.Read(make([]byte, 9)); n != 0 || err != io.EOF {
				t.Errorf("Read at the end: %d, %v", n, err)
			}
			peers.Put(t, nc, "more")
			if f := c.Await(id, "data"); f.Data != "more" || f.End {
				t.Errorf("the client got %v after it has ended its side", f)
			}
			if err := nc.Close(); err != nil {
				t.Error(err)
			}
			c.WantEnd(id, "data", 0)
			if _, err := nc.Read(make([]byte, 9)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Read after Close: %v", err)
			}
			if _, err := nc.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write after Close: %v", err)
			}
			if err := nc.Close(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a second Close: %v", err)
			}
			c.WantAnswer(c.Open("GET", "/plain", true), "200", `GET "" /plain h`)
		}

		id := c.Connect("/taken") // the server ends first, and the client goes on
		nc := peers.GetTaken(t, taken)
		if err := nc.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Error(err)
		}
		c.WantEnd(id, "data", 0)
		c.Data(id, "still", false)
		peers.Want(t, nc, "still")
		nc.Close()
		c.Data(id, "too late", false)
		c.WantEnd(id, "rst", http2.ErrCodeNo)

		id = c.Connect("/taken") // both end
		nc = peers.GetTaken(t, taken)
		nc.Close()
		c.WantEnd(id, "data", 0)
		c.Data(id, "", true)
		c.Sync()
		for _, f := range c.Got {
			if f.Kind == "rst" && f.Stream == id {
				t.Errorf("a stream that both have ended was reset: %v", f)
			}
		}
		peers.WantStreams(t, hs.S, 0)
		c.WantAlive()
	})
}

// TestTunnelReset proves that resets in both directions are told, and that a lost connection
// is.
func TestTunnelReset(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs, taken := harness.TunnelServer(t, way, &gale.Server{})
		c := hs.DialH2()
		id := c.Connect("/taken")
		nc := peers.GetTaken(t, taken)
		failed := make(chan error, 1)
		go func() {
			_, err := nc.Read(make([]byte, 1))
			failed <- err
		}()
		c.Data(id, "", false)
		c.Check(c.Fr.WriteRSTStream(id, http2.ErrCodeCancel))
		var reset *gale.StreamResetError
		if err := <-failed; !errors.As(err, &reset) || reset.Code != uint32(http2.ErrCodeCancel) {
			t.Errorf("Read after a reset: %v", err)
		}
		if _, err := nc.Write([]byte("x")); !errors.As(err, &reset) {
			t.Errorf("Write after a reset: %v", err)
		}
		peers.WantStreams(t, hs.S, 1) // until Close
		nc.Close()
		peers.WantStreams(t, hs.S, 0)

		id = c.Connect("/taken") // the server resets
		nc = peers.GetTaken(t, taken)
		peers.Check(t, nc.(interface{ SetLinger(int) error }).SetLinger(0))
		nc.Close()
		c.WantEnd(id, "rst", http2.ErrCodeCancel)
		peers.WantStreams(t, hs.S, 0)

		id = c.Connect("/taken") // trailers aren't allowed
		nc = peers.GetTaken(t, taken)
		c.Head.Reset()
		c.Check(c.Enc.WriteField(hpack.HeaderField{Name: "x", Value: "y"}))
		c.Check(c.Fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.Head.Bytes(), EndHeaders: true, EndStream: true}))
		c.WantEnd(id, "rst", http2.ErrCodeProtocol)
		if _, err := nc.Read(make([]byte, 1)); !errors.As(err, &reset) {
			t.Errorf("Read after trailers: %v", err)
		}
		nc.Close()
		c.WantAlive()

		c.Connect("/taken")
		nc = peers.GetTaken(t, taken)
		go func() {
			_, err := nc.Read(make([]byte, 1))
			failed <- err
		}()
		c.Close()
		if err := <-failed; err == nil || err == io.EOF {
			t.Errorf("Read after the loss of the connection: %v", err)
		}
		nc.Close()
		peers.WantStreams(t, hs.S, 0)
	})
}

// TestTunnelBulk proves that a MiB goes each way at once, and that a slow reader stops only
// the writer of its own stream.
func TestTunnelBulk(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		hs, taken := harness.TunnelServer(t, way, &gale.Server{})
		c := hs.DialH2(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		c.Check(c.Fr.WriteWindowUpdate(0, 4<<20))
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		id := c.Connect("/taken")
		nc := peers.GetTaken(t, taken)
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
				c.Data(id, string(big[sent:sent+n]), false)
				sent, window, connWindow = sent+n, window-n, connWindow-n
				continue
			}
			switch f := c.Next(); {
			case f.Kind == "window" && f.Stream == id:
				window += int(f.Code)
			case f.Kind == "data":
				got = append(got, f.Data...)
			case f.Kind == "eof", f.Kind == "rst":
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

		other := c.Connect("/taken") // the window of this stream is used up
		slow := peers.GetTaken(t, taken)
		go func() {
			_, err := slow.Write(append(big, "end"...))
			done <- err
		}()
		for n := 0; n < 1<<20; {
			n += len(c.Await(other, "data").Data)
		}
		c.Check(c.Fr.WriteWindowUpdate(id, 100))
		peers.Put(t, nc, "others go on")
		if f := c.Await(id, "data"); f.Data != "others go on" {
			t.Errorf("the other stream got %v", f)
		}
		c.WantAlive()
		c.Check(c.Fr.WriteWindowUpdate(other, 3))
		if f := c.Await(other, "data"); f.Data != "end" {
			t.Errorf("the slow stream got %v", f)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestTunnelHandlers proves what follows from handlers that panic, time out, or end after
// they have taken a stream over, and that the hooks run.
func TestTunnelHandlers(t *testing.T) {
	peers.EachWay(t, func(t *testing.T, way harness.H2Way) {
		taken := make(chan net.Conn, 1)
		after := make(chan error, 8)
		log := &peers.Log{}
		slow := make(chan struct{})
		s := &gale.Server{Logger: log, HTTP2: gale.HTTP2Config{WebSocket: true}}
		s.BeforeSend = func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Hook", "ran") }
		s.Handler = func(ctx *gale.RequestCtx) {
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
				ctx.SetStatusCode(gale.StatusNotFound)
				if _, err := ctx.HijackNow(); err == nil {
					t.Error("HijackNow with a 404")
				}
			case "/after":
				ctx.AfterSend(func(_ int64, err error) { after <- err })
				ctx.Hijack(func(nc net.Conn) { peers.Want(t, nc, "x") })
			case "/flushed":
				ctx.WriteString("flushed ")
				peers.Check(t, ctx.Flush())
				ctx.Hijack(func(nc net.Conn) { peers.Put(t, nc, "tunneled") })
			default:
				ctx.WriteString("ok")
			}
		}
		timed := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			nc, err := ctx.HijackNow()
			if err != nil {
				t.Error(err)
			}
			taken <- nc
			<-slow
		}, 10*time.Millisecond, "too slow")
		plain := s.Handler
		s.Handler = func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/timed" {
				timed(ctx)
				return
			}
			plain(ctx)
		}
		hs := way.Start(t, s)
		c := hs.DialH2()

		id := c.Connect("/panics")
		nc := <-taken
		if f := c.Await(id, "200"); f.Fields["x-hook"] != "ran" {
			t.Errorf("the hook didn't run: %v", f)
		}
		await.Until(t, "the log", func() bool { return strings.Contains(log.String(), "after HijackNow") })
		c.Data(id, "x", false)
		peers.Want(t, nc, "x")
		nc.Close()
		c.WantEnd(id, "data", 0)
		c.Data(id, "", true)

		id = c.Connect("/timed")
		nc = <-taken
		c.Await(id, "200")
		peers.Put(t, nc, "mine")
		if f := c.Await(id, "data"); f.Data != "mine" {
			t.Errorf("the client got %v", f)
		}
		close(slow)
		nc.Close()
		c.Data(id, "", true)

		id = c.Connect("/hijack-panics")
		c.WantEnd(id, "data", 0)
		c.Data(id, "", true)
		await.Until(t, "the log", func() bool { return strings.Contains(log.String(), "in the HijackHandler") })

		if status, _, _ := c.Answer(c.Connect("/refuses")); status != "404" {
			t.Errorf("the answer is %s", status)
		}
		id = c.Connect("/after")
		c.Await(id, "200")
		if err := <-after; err != nil {
			t.Errorf("AfterSend got %v", err)
		}
		c.Data(id, "x", true)
		c.WantEnd(id, "data", 0)
		id = c.Connect("/flushed")
		c.WantAnswer(id, "200", "flushed tunneled")
		c.Data(id, "", true)
		c.WantAnswer(c.Open("GET", "/", true), "200", "ok")
		peers.WantStreams(t, hs.S, 0)
	})
}
