package reverse_test

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/peers"
)

// An upstream gets the same request whatever protocol the client speaks, except Via.
func TestHTTP2Fields(t *testing.T) { onUpstreams(t, testHTTP2Fields) }

func testHTTP2Fields(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuse" {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %v %d %v\n", r.Method, r.RequestURI, r.Host, r.TransferEncoding, r.ContentLength, err)
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintf(w, "%s: %q\n", name, r.Header[name])
		}
		fmt.Fprintf(w, "%d %v", len(body), r.Trailer)
	})
	p := &reverse.Proxy{Upstreams: []string{addr}, Via: "me", Forwarded: true, HTTP2: upstreamMode()}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Handler: p.Handler, Engine: engine, StreamRequestBody: true, HTTP2: gale.HTTP2Config{H2C: true}, Logger: log.New(io.Discard, "", 0)}
	go s.Serve(ln)
	t.Cleanup(func() {
		s.Close()
		p.Close()
	})
	ask := func(major int, method, path, body string, sized bool, fields ...string) string {
		protocols := peers.Protocols(major)
		tr := &http.Transport{Protocols: protocols, DisableCompression: true, ExpectContinueTimeout: wait}
		defer tr.CloseIdleConnections()
		var from io.Reader
		switch {
		case sized:
			from = strings.NewReader(body)
		case body != "":
			from = io.MultiReader(strings.NewReader(body))
		}
		req, err := http.NewRequest(method, "http://"+ln.Addr().String()+path, from)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "site.example"
		for i := 0; i < len(fields); i += 2 {
			if name, ok := strings.CutPrefix(fields[i], "trailer "); ok {
				req.Trailer = http.Header{name: {fields[i+1]}}
				continue
			}
			req.Header.Add(fields[i], fields[i+1])
		}
		req.Header.Set("User-Agent", "u")
		resp, err := (&http.Client{Transport: tr, Timeout: wait}).Do(req)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %q %v\n%s", resp.StatusCode, resp.Header["Via"], err, b)
	}
	big := strings.Repeat("x", 100<<10)
	for _, x := range []struct {
		method, path, body string
		sized              bool
		fields             []string
	}{
		{"GET", "/a%2Fb//c?d=e", "", false, []string{"TE", "trailers", "X-A", "1", "X-A", "2", "Cookie", "a=b", "X-Forwarded-For", "1.2.3.4"}},
		{"HEAD", "/", "", false, nil},
		{"POST", "/", "body", true, nil},
		{"POST", "/", "body", false, nil},
		{"POST", "/", "", true, nil},
		{"POST", "/", big, true, nil},
		{"POST", "/", "body", true, []string{"Expect", "100-continue"}},
		{"POST", "/", big, false, []string{"Expect", "100-continue"}},
		{"POST", "/refuse", big, true, []string{"Expect", "100-continue"}},
		{"POST", "/", "body", false, []string{"trailer X-Sum", "1"}},
		{"DELETE", "/", "", false, nil},
	} {
		of1 := ask(1, x.method, x.path, x.body, x.sized, x.fields...)
		of2 := ask(2, x.method, x.path, x.body, x.sized, x.fields...)
		if want := strings.ReplaceAll(of1, `Via: ["1.1 me"]`, `Via: ["2.0 me"]`); of2 != want {
			t.Errorf("%s %s of %d bytes %q: by HTTP/2\n%s\nby HTTP/1.1\n%s", x.method, x.path, len(x.body), x.fields, of2, of1)
		}
	}
}
