package adaptor

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// Date and repeated fields can be trailers; what is announced when it is too late
// for a trailer section is sent in the header, unless that has gone out.
func TestTrailers(t *testing.T) {
	const date = "Mon, 28 Sep 2026 00:00:00 GMT"
	handlers := map[string]http.HandlerFunc{
		"/early": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "Date, Server")
			io.WriteString(w, "body")
			w.Header()["Server"] = []string{"one", "two"}
			w.Header().Set("Date", date)
		},
		"/late": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "body")
			w.Header().Set("Trailer", "X-Sum, Content-Length")
			w.Header().Set("X-Sum", "1")
			w.Header().Set("Content-Length", "99")
			w.Header().Set("X-Other", "1")
		},
		"/known": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Sum", "1")
			io.WriteString(w, "body")
			w.Header().Set("Trailer", "X-Sum")
			w.Header().Set("X-Sum", "2")
		},
		"/flushed": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "body")
			w.(http.Flusher).Flush()
			w.Header().Set("Trailer", "X-Sum")
			w.Header().Set("X-Sum", "1")
		},
	}
	ln := serveGale(t, &gale.Server{Handler: NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[r.URL.Path](w, r)
	})})
	c := dial(t, ln)
	read := func(path string) reply {
		c.send(get(path))
		a := c.read("GET")
		if a.Body != "body" || a.Err != "" {
			t.Errorf("%s: %v", path, a)
		}
		return a
	}
	if a := read("/early"); a.Trailer.Get("Date") != date || !slices.Equal(a.Trailer["Server"], []string{"one", "two"}) {
		t.Error(a)
	}
	if a := read("/late"); a.Chunked || a.Length != 4 || a.Header.Get("X-Sum") != "1" || a.Header.Get("X-Other") != "" {
		t.Error(a)
	}
	if a := read("/known"); !slices.Equal(a.Header["X-Sum"], []string{"1"}) {
		t.Error(a)
	}
	if a := read("/flushed"); !a.Chunked || len(a.Trailer) > 0 || a.Header.Get("X-Sum") != "" {
		t.Error(a)
	}
}

// On net/http's server too, what a client declares and sends as trailer fields is
// found by Trailers and PeekTrailer alone, and doesn't keep a handler from setting
// fields of these names.
func TestReceivedTrailersApart(t *testing.T) {
	got := make(chan string, 1)
	nl := onNetHTTP(t, NewHTTPHandler(func(ctx *gale.RequestCtx) {
		h := &ctx.Request.Header
		h.Set("X-A", "mine")
		body := string(ctx.PostBody())
		got <- fmt.Sprintf("%s %s/%s/%s %s/%s %q", body, h.Peek("X-A"), h.PeekAll("x-a"), ctx.PeekTrailer("X-A"),
			h.Peek("X-B"), ctx.PeekTrailer("x-b"), h.TrailerHeader())
	}))
	c := dial(t, nl)
	c.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-A, X-B\r\nX-A: theirs\r\n\r\n" +
		"2\r\nhi\r\n0\r\nX-A: late\r\nX-B: b\r\n\r\n")
	c.read("POST")
	if s, want := <-got, `hi mine/[mine]/late /b "\r\n"`; s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

// A trailer field of a converted request is left out where the header has its name:
// who sent the request may have declared it.
func TestConvertTrailers(t *testing.T) {
	r, err := http.NewRequest("POST", "http://h/", io.NopCloser(strings.NewReader("hi")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-A", "mine")
	r.Trailer = http.Header{"X-A": {"late"}, "X-B": {"b"}}
	var req gale.Request
	ConvertNetHTTPRequestToFastHTTPRequest(r, &req)
	var b bytes.Buffer
	if _, err := req.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "\r\nX-A: mine\r\n") || !strings.Contains(s, "\r\nTrailer: X-B\r\n") ||
		!strings.HasSuffix(s, "\r\n0\r\nX-B: b\r\n\r\n") || strings.Contains(s, "late") {
		t.Errorf("%q", s)
	}
}

// The log of a panic tells whether part of the response was sent.
func TestPanicAfterFlushLog(t *testing.T) {
	for _, flush := range []bool{false, true} {
		logged := &quiet{}
		s := &gale.Server{Logger: logged, Handler: NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "part")
			if flush {
				w.(http.Flusher).Flush()
			}
			panic("on purpose")
		})}
		c := dial(t, serveGale(t, s))
		c.send(get("/"))
		if a := c.read("GET"); (a.Err != "") != flush {
			t.Error(a)
		}
		c.Close()
		s.Shutdown()
		if strings.Contains(logged.String(), "panic in net/http handler: on purpose (part of the response was sent)") != flush {
			t.Errorf("flushed %v: %s", flush, logged)
		}
	}
}

// A response that is shorter than it was declared to be breaks the connection, and is
// no panic to be logged.
func TestShortResponseIsNotLogged(t *testing.T) {
	logged := &quiet{}
	s := &gale.Server{Logger: logged, Handler: NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "part")
		w.(http.Flusher).Flush()
	})}
	c := dial(t, serveGale(t, s))
	c.send(get("/"))
	if a := c.read("GET"); a.Err == "" {
		t.Error(a)
	}
	c.Close()
	s.Shutdown()
	if logged.String() != "" {
		t.Errorf("logged %s", logged)
	}
}
