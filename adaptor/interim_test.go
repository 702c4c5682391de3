package adaptor

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// serveStd serves h on net/http, with HTTP/1.1 and HTTP/2 without TLS.
func serveStd(t *testing.T, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = peers.Protocols(1, 2)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// speaks returns a client of one version of HTTP.
func speaks(t *testing.T, version int) *http.Client {
	tr := &http.Transport{Protocols: peers.Protocols(version)}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// hints is a handler that sends informational responses with fields that the final response
// doesn't have.
func hints(ctx *gale.RequestCtx) {
	h := &ctx.Response.Header
	for i := range 8 {
		h.Add("Link", fmt.Sprintf("</style%d.css>; rel=preload; as=style", i))
		h.Set(fmt.Sprintf("X-Field-%d", i), "value")
	}
	if err := ctx.EarlyHints(); err != nil {
		ctx.SetUserValue("err", err)
	}
	var more gale.ResponseHeader
	more.Set("X-Interim", "yes")
	_ = ctx.SendInterim(gale.StatusProcessing, &more)
	ctx.SetBodyString("hello")
}

// Over HTTP/1.1 the client gets informational responses, over HTTP/2 none, since net/http may go
// on reading their header. In both cases handlers get no error, and the final response is whole.
func TestInterimOnNetHTTP(t *testing.T) {
	s := serveStd(t, NewHTTPHandler(func(ctx *gale.RequestCtx) {
		hints(ctx)
		if err := ctx.UserValue("err"); err != nil {
			t.Error(err)
		}
	}))
	for version, want := range map[int]string{1: "[103 102]", 2: "[]"} {
		got := []int{}
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			got = append(got, code)
			if len(h["Link"]) != 8 && code == 103 || h.Get("X-Interim") != "yes" && code == 102 {
				t.Errorf("HTTP/%d: a %d has %v", version, code, h)
			}
			return nil
		}}
		req, _ := http.NewRequest("GET", s.URL, nil)
		resp, err := speaks(t, version).Do(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(b) != "hello" || len(resp.Header["Link"]) != 8 || resp.Header.Get("X-Interim") != "" {
			t.Errorf("HTTP/%d: got %q, %v, %v", version, b, err, resp.Header)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("HTTP/%d: the informational responses %v, want %s", version, got, want)
		}
	}
}

// A client that resets streams while handlers send informational responses doesn't end the
// process: no goroutine of net/http reads a map that another one changes.
func TestResetsDuringInterim(t *testing.T) {
	s := serveStd(t, NewHTTPHandler(hints))
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 10 {
				resetStreams(t, s.Listener.Addr().String())
			}
		})
	}
	wg.Wait()
}

// resetStreams sends 100 requests on one connection and resets each.
func resetStreams(t *testing.T, addr string) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer nc.Close()
	go func() { _, _ = io.Copy(io.Discard, nc) }()
	var buf, head bytes.Buffer
	buf.WriteString(http2.ClientPreface)
	fr := http2.NewFramer(&buf, nil)
	_ = fr.WriteSettings()
	enc := hpack.NewEncoder(&head)
	for i := range 100 {
		id := uint32(2*i + 1)
		head.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "a"}} {
			_ = enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true})
		if _, err := nc.Write(buf.Bytes()); err != nil {
			return // the server has closed the connection
		}
		buf.Reset()
		time.Sleep(time.Duration(i) * time.Microsecond) // so that resets come at each moment
		_ = fr.WriteRSTStream(id, http2.ErrCodeCancel)
		if _, err := nc.Write(buf.Bytes()); err != nil {
			return
		}
		buf.Reset()
	}
}

// A handler that has timed out doesn't look at trailer fields while net/http reads them.
func TestTrailersAfterTimeout(t *testing.T) {
	seen := make(chan struct{})
	over := make(chan struct{})
	late := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		<-ctx.Done()
		close(seen)
		for {
			select {
			case <-over:
				close(over)
				return
			default:
				for range ctx.Trailers() {
					t.Error("a handler that has timed out got a trailer field")
				}
			}
		}
	}, time.Millisecond, "too late")
	s := serveStd(t, NewHTTPHandler(func(ctx *gale.RequestCtx) {
		if string(ctx.Path()) != "/next" {
			late(ctx)
		}
	}))
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
	br := bufio.NewReader(c)
	<-seen
	_, _ = io.WriteString(c, "0\r\nX-Sum: 1\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n")
	for _, want := range []string{"too late", ""} { // after the second one, the first body was read
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); string(b) != want || err != nil {
			t.Errorf("got %s %q, %v", resp.Status, b, err)
		}
	}
	over <- struct{}{}
	<-over
}
