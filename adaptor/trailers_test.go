package adaptor

import (
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
