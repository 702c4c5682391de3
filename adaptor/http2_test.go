package adaptor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHTTP2: net/http handlers on HTTP/2.
func TestHTTP2(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := w.(http.Hijacker); ok {
			t.Error("the response can be hijacked")
		}
		rc := http.NewResponseController(w)
		if _, _, err := rc.Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Hijack: %v", err)
		}
		if err := rc.EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
		if r.Method == "POST" && (r.ContentLength != -1 || r.TransferEncoding != nil) {
			t.Errorf("length %d, transfer encoding %q", r.ContentLength, r.TransferEncoding)
		}
		w.Header().Set("Trailer", "X-Sum")
		fmt.Fprintf(w, "%s %d %s %s: ", r.Proto, r.ProtoMajor, r.Host, r.URL)
		w.(http.Flusher).Flush()
		var b [100]byte
		for { // full duplex
			n, err := r.Body.Read(b[:])
			w.Write(b[:n])
			if err != nil {
				break
			}
			if err := rc.Flush(); err != nil {
				t.Error(err)
			}
		}
		fmt.Fprintf(w, " %s", r.Trailer.Get("X-In"))
		w.Header().Set("X-Sum", "abc")
	})
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Engine: e, Handler: NewFastHTTPHandler(h), StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}}
		go s.Serve(ln)
		defer s.Close()
		tr := &http.Transport{Protocols: peers.Protocols(2)}
		defer tr.CloseIdleConnections()
		c := &http.Client{Transport: tr}
		url := "http://" + ln.Addr().String()
		req, _ := http.NewRequest("POST", url+"/p?q", io.MultiReader(strings.NewReader("body")))
		req.Host = "example.com"
		req.Trailer = http.Header{"X-In": {"in"}}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || string(b) != "HTTP/2.0 2 example.com /p?q: body in" || resp.Trailer.Get("X-Sum") != "abc" {
			t.Errorf("%v: got %q, %v, trailers %v", e, b, err, resp.Trailer)
		}
		if _, err := c.Get(url + "/panic"); err == nil {
			t.Errorf("%v: no error after ErrAbortHandler", e)
		}
	}
}

// TestHTTP2WriteDeadline: any goroutine may bound a Flush that waits for the client.
func TestHTTP2WriteDeadline(t *testing.T) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		result := make(chan error, 1)
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			rc := http.NewResponseController(w)
			piece := make([]byte, 64<<10)
			var sent atomic.Int64 // pieces
			go func() {
				for before := int64(-1); ; time.Sleep(50 * time.Millisecond) { // it most likely waits then
					if n := sent.Load(); n > 0 && n == before {
						break
					} else {
						before = n
					}
				}
				if err := rc.SetWriteDeadline(time.Now()); err != nil {
					t.Error(err)
				}
			}()
			for {
				w.Write(piece)
				if err := rc.Flush(); err != nil {
					result <- err
					return
				}
				sent.Add(1)
			}
		})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Engine: e, Handler: NewFastHTTPHandler(h), HTTP2: gale.HTTP2Config{H2C: true}}
		go s.Serve(ln)
		defer s.Close()
		tr := &http.Transport{Protocols: peers.Protocols(2)}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get("http://" + ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() // nothing of it is read
		if err := <-result; !errors.Is(err, gale.ErrTimeout) {
			t.Errorf("%v: Flush: %v", e, err)
		}
	}
}
