package adaptor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/galehttp/gale"
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
		p := new(http.Protocols)
		p.SetUnencryptedHTTP2(true)
		tr := &http.Transport{Protocols: p}
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
