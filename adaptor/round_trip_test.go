package adaptor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// newGaleClient returns a client of net/http that sends with a client of Gale.
func newGaleClient(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{Transport: NewRoundTripper(new(gale.Client)), Timeout: time.Minute}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// A request arrives as one of net/http's own client does, and so does the response.
func TestRoundTrip(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		user, password, _ := r.BasicAuth()
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "%s %s %s %d %q %v %s:%s %q %q", r.Method, r.Host, r.RequestURI, r.ContentLength, body, r.Trailer["X-In"],
			user, password, r.Header["X-A"], r.Header["User-Agent"])
		w.Header().Set("X-Sum", "sum")
		w.Header().Set(http.TrailerPrefix+"X-Late", "late")
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for _, tt := range []struct {
		name   string
		method string
		url    string
		body   io.Reader
		change func(*http.Request)
		want   string
	}{
		{"GET", "GET", "/a%20b/../c?q=%20", nil, nil, `GET HOST /a%20b/../c?q=%20 0 "" [] : [] ["gale"]`},
		{"a body of known length", "POST", "/", strings.NewReader("body"), nil, `POST HOST / 4 "body" [] : [] ["gale"]`},
		{"a body of unknown length", "PUT", "/", io.MultiReader(strings.NewReader("body")), nil, `PUT HOST / -1 "body" [] : [] ["gale"]`},
		{"trailers", "POST", "/", io.MultiReader(strings.NewReader("body")), func(r *http.Request) {
			r.Trailer = http.Header{"X-In": {"in"}}
		}, `POST HOST / -1 "body" [in] : [] ["gale"]`},
		{"fields", "GET", "/", nil, func(r *http.Request) {
			r.Header["X-A"] = []string{"1", "2"}
			r.Header.Set("User-Agent", "mine")
			r.Host = "example.com"
			r.URL.Fragment = "fragment"
		}, `GET example.com / 0 "" [] : ["1" "2"] ["mine"]`},
		{"a user in the URL", "GET", "/", nil, func(r *http.Request) { r.URL.User = nil; r.SetBasicAuth("ann", "secret") },
			`GET HOST / 0 "" [] ann:secret [] ["gale"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequest(tt.method, server.URL+tt.url, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(req)
			}
			resp, err := newGaleClient(t).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := resp.Trailer["X-Sum"]; !ok || resp.StatusCode != 202 || resp.Status != "202 Accepted" || resp.Proto != "HTTP/1.1" ||
				resp.ContentLength != -1 || fmt.Sprint(resp.Header["X-Two"]) != "[a b]" {
				t.Errorf("got %+v", resp)
			}
			b, err := io.ReadAll(resp.Body)
			if err := errors.Join(err, resp.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(tt.want, "HOST", host); string(b) != want {
				t.Errorf("got  %s\nwant %s", b, want)
			}
			if resp.Trailer.Get("X-Sum") != "sum" || resp.Trailer.Get("X-Late") != "late" {
				t.Errorf("trailers %v", resp.Trailer)
			}
		})
	}
}

// Responses without a body, and what http.Client does with its transport: redirects,
// cookies, HEAD, and connections that are used again.
func TestRoundTripClient(t *testing.T) {
	conns := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns[r.RemoteAddr] = true
		switch r.URL.Path {
		case "/":
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/to", http.StatusSeeOther)
		case "/to":
			c, err := r.Cookie("a")
			fmt.Fprint(w, r.Method, c, err)
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/head":
			w.Header().Set("Content-Length", "10")
		}
	}))
	defer server.Close()
	c := newGaleClient(t)
	c.Jar, _ = cookiejar.New(nil)
	for _, tt := range []struct {
		method, path string
		status       int
		length       int64
		want         string
	}{
		{"POST", "/", 200, 12, "GETa=b <nil>"},
		{"GET", "/none", 204, 0, ""},
		{"HEAD", "/head", 200, 10, ""},
		{"GET", "/to", 200, 12, "GETa=b <nil>"},
	} {
		req, _ := http.NewRequest(tt.method, server.URL+tt.path, nil)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(b) != tt.want || resp.StatusCode != tt.status || tt.want == "" && resp.ContentLength != tt.length {
			t.Errorf("%s %s: %d %q %v, length %d", tt.method, tt.path, resp.StatusCode, b, err, resp.ContentLength)
		}
	}
	if len(conns) != 1 {
		t.Errorf("%d connections, want 1", len(conns))
	}
}

// The body of a response is read while the server makes it. It ends with an error when the
// context ends, and Close gives it up.
func TestRoundTripStream(t *testing.T) {
	gone := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- r.Context().Err()
	}))
	defer server.Close()
	for _, end := range []string{"context", "close"} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", server.URL, nil)
		resp, err := newGaleClient(t).Transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 5)
		if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "first" {
			t.Fatalf("%q, %v", b, err)
		}
		if end == "context" {
			cancel()
			if _, err := resp.Body.Read(b); err != context.Canceled {
				t.Errorf("Read: %v", err)
			}
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if _, err := resp.Body.Read(b); err == nil || err == io.EOF {
			t.Errorf("%s: Read after Close: %v", end, err)
		}
		<-gone
	}
}

// countedBody counts calls of Close.
type countedBody struct {
	io.Reader
	closed atomic.Int32
}

func (b *countedBody) Close() error { b.closed.Add(1); return nil }

// The body of a request is closed once, whatever happens.
func TestRoundTripClosesBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
		io.Copy(io.Discard, r.Body)
	}))
	server.Config.ErrorLog = nil
	defer server.Close()
	c := NewRoundTripper(new(gale.Client))
	for _, tt := range []struct {
		name, url string
		body      io.Reader
		fails     bool
	}{
		{"answered", server.URL, strings.NewReader("body"), false},
		{"aborted", server.URL + "/abort", strings.NewReader("body"), true},
		{"a body that fails", server.URL, io.MultiReader(strings.NewReader("a"), failing{}), true},
		{"no host", "/path", strings.NewReader("body"), true},
		{"another scheme", "ftp://127.0.0.1/", strings.NewReader("body"), true},
		{"no server", "http://127.0.0.1:1/", strings.NewReader("body"), true},
	} {
		body := &countedBody{Reader: tt.body}
		req, err := http.NewRequest("POST", tt.url, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(req)
		if (err != nil) != tt.fails {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err == nil {
			if resp.Request != req {
				t.Errorf("%s: the response is that of another request", tt.name)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		await.Until(t, tt.name+": the body to be closed", func() bool { return body.closed.Load() > 0 })
		if n := body.closed.Load(); n != 1 {
			t.Errorf("%s: the body was closed %d times", tt.name, n)
		}
		if req.Body != io.ReadCloser(body) {
			t.Errorf("%s: the request was changed", tt.name)
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("on purpose") }

// Many goroutines use it at the same time, on both engines of a Gale server.
func TestRoundTripSideBySide(t *testing.T) {
	server := func() *gale.Server {
		return &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBody(ctx.PostBody()) }}
	}
	onEngines(t, server, func(t *testing.T, addr string) {
		c := newGaleClient(t)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 20 {
					own := strings.Repeat(fmt.Sprint(i, ",", n, ";"), 1+n*100)
					resp, err := c.Post("http://"+addr, "text/plain", strings.NewReader(own))
					if err != nil {
						t.Error(err)
						return
					}
					b, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					if err != nil || string(b) != own {
						t.Errorf("%d bytes, %v, want %d", len(b), err, len(own))
					}
				}
			})
		}
		wg.Wait()
	})
}
