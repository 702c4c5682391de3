package adaptor

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/galeutil"
)

// handlers are handlers whose responses are the same on both servers.
var handlers = map[string]http.HandlerFunc{
	"nothing":     func(w http.ResponseWriter, r *http.Request) {},
	"text":        func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") },
	"html":        func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<"); io.WriteString(w, "html>") },
	"png":         func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("\x89PNG\x0D\x0A\x1A\x0A")) },
	"empty write": func(w http.ResponseWriter, r *http.Request) { w.Write(nil) },
	"status":      func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) },
	"error":       func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", 500) },
	"not found":   http.NotFound,
	"redirect":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) },
	"superfluous": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(201); w.WriteHeader(202) },
	"too late":    func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(200); w.Header().Set("X", "y") },
	"no content": func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(204)
		_, err := w.Write([]byte("x"))
		must(err, http.ErrBodyNotAllowed)
	},
	"not modified": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) },
	"type": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "a/b")
		w.Write([]byte("x"))
	},
	"no type": func(w http.ResponseWriter, r *http.Request) { w.Header()["Content-Type"] = nil; w.Write([]byte("x")) },
	"encoded": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "x")
		w.Write([]byte("x"))
	},
	"fields": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2; Path=/")
		w.Header().Add("X-Two", "1")
		w.Header().Add("X-Two", "2")
		w.Header().Set("Cache-Control", "a\r\nb")
		w.Header().Set("bad name", "x")
	},
	"close": func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Connection", "close") },
	"length": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		io.WriteString(w, "hello")
	},
	"too much": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		io.WriteString(w, "hello")
		_, err := io.WriteString(w, "!")
		must(err, http.ErrContentLength)
	},
	"flush": func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Late", "x")
		io.WriteString(w, "b")
	},
	"flush first": func(w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); io.WriteString(w, "<html>") },
	"flush sized": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2")
		io.WriteString(w, "a")
		w.(http.Flusher).Flush()
		io.WriteString(w, "b")
	},
	"flush status": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404); w.(http.Flusher).Flush() },
	"trailers": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum, X-None")
		io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "1")
		w.Header().Set(http.TrailerPrefix+"X-Late", "2")
	},
	"trailer instead of type": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Del("Content-Type")
		w.Header().Set(http.TrailerPrefix+"X-Late", "1")
	},
	"no trailer but a type": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("Content-Type", "text/html")
	},
	"many fields": func(w http.ResponseWriter, r *http.Request) {
		for i := range 20 {
			w.Header().Add(fmt.Sprintf("X-Field-%d", i), "1")
			w.Header().Add(fmt.Sprintf("X-Field-%d", i), "2")
		}
		io.WriteString(w, "body")
	},
	"large": func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, strings.NewReader(strings.Repeat("x", 3<<20)))
	},
	"read from": func(w http.ResponseWriter, r *http.Request) { w.(io.ReaderFrom).ReadFrom(strings.NewReader("from")) },
	"serve content": func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.css", time.Unix(1e9, 0), strings.NewReader("0123456789"))
	},
	"echo": func(w http.ResponseWriter, r *http.Request) { b, _ := io.ReadAll(r.Body); w.Write(b) },
	"max": func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 2))
		fmt.Fprint(w, err)
	},
	"timeout handler": http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}), 10*time.Millisecond, "slow").ServeHTTP,
	"abort": func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
	"abort flushed": func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "part")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	},
	"hijack": func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		must(err, nil)
		defer c.Close()
		fmt.Fprint(rw, "HTTP/1.1 299 Mine\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
		rw.Flush()
		_, err = w.Write([]byte("x"))
		must(err, http.ErrHijacked)
		_, _, err = http.NewResponseController(w).Hijack()
		must(err, http.ErrHijacked)
	},
}

func must(err, want error) {
	if !errors.Is(err, want) {
		panic(fmt.Sprintf("%v, want %v", err, want))
	}
}

// A handler answers alike on both servers.
func TestResponseIsThatOfNetHTTP(t *testing.T) {
	reqs := map[string]string{
		"GET":  get("/"),
		"HEAD": "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
		"1.0":  "GET / HTTP/1.0\r\n\r\n",
		"POST": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345",
	}
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			gl, nl := onGale(t, h), onNetHTTP(t, h)
			for method, req := range reqs {
				g, n := dial(t, gl), dial(t, nl)
				g.send(req)
				n.send(req)
				a, b := g.read(method), n.read(method)
				normalize(&a)
				normalize(&b)
				if a.String() != b.String() {
					t.Errorf("%s: on Gale\n%.1000s\non net/http\n%.1000s", method, a, b)
				}
			}
		})
	}
}

// The answer to a HEAD doesn't say that the one to a GET would be empty, unless the
// handler does.
func TestLengthOfHead(t *testing.T) {
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, ""},
		"nothing":  {func(http.ResponseWriter, *http.Request) {}, ""},
		"declared": {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "7") }, "7"},
		"none":     {func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Length", "0") }, "0"},
		"written":  {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "body") }, "4"},
	} {
		ln := onGale(t, tt.h)
		for _, proto := range []string{"HTTP/1.1", "HTTP/1.0"} {
			c := dial(t, ln)
			req := "HEAD / " + proto + "\r\nHost: h\r\nConnection: keep-alive\r\n\r\n"
			c.send(req + req)
			for range 2 {
				a := c.read("HEAD")
				if got := a.Header.Get("Content-Length"); got != tt.want || a.Err != "" {
					t.Errorf("%s, %s: Content-Length: %q, want %q; %v", name, proto, got, tt.want, a)
				}
			}
		}
	}
}

// Neither an informational response nor a 101 that is flushed is a beginning of another one: the
// client gets it, and then the connection is the handler's, as with net/http.
func TestHijackAfterInterim(t *testing.T) {
	for _, status := range []int{http.StatusEarlyHints, http.StatusSwitchingProtocols} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if status == http.StatusSwitchingProtocols {
				w.Header().Set("Connection", "Upgrade")
				w.Header().Set("Upgrade", "own")
			}
			w.WriteHeader(status)
			if status == http.StatusSwitchingProtocols {
				must(http.NewResponseController(w).Flush(), nil)
			}
			c, _, err := w.(http.Hijacker).Hijack()
			must(err, nil)
			defer c.Close()
			io.WriteString(c, "HTTP/1.1 299 Mine\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
		})
		for _, ln := range []*galeutil.InmemoryListener{onGale(t, h), onNetHTTP(t, h)} {
			c := dial(t, ln)
			c.send(get("/"))
			if a := c.read("GET"); a.Status != status || status == http.StatusSwitchingProtocols && a.Header.Get("Upgrade") != "own" {
				t.Error(a)
			}
			if a := c.read("GET"); a.Status != 299 || a.Body != "hi" {
				t.Error(a)
			}
		}
	}
}

// What was written before Hijack goes out as the beginning of a response.
func TestHijackAfterWrite(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "body")
		c, _, err := w.(http.Hijacker).Hijack()
		must(err, nil)
		c.Close()
	})
	c := dial(t, onGale(t, h))
	c.send(get("/"))
	if a := c.read("GET"); a.Status != 200 || a.Body != "body" || a.Err == "" {
		t.Errorf("%v, want a response that breaks off", a)
	}
}

// normalize takes out of a what both servers may choose.
func normalize(a *reply) {
	a.Header.Del("Content-Length")
	if a.Length < 0 {
		a.Length, a.Chunked = int64(len(a.Body)), false // it may be chunked or not
	}
	if a.Proto == "HTTP/1.0" {
		a.Proto = "HTTP/1.1"
	}
	a.Header.Del("Connection")
	a.Header.Del("Trailer") // sent without a trailer section by net/http
	a.Close = false         // whether what a handler left of a body is read
	if a.Err != "" {
		a.Err = "some error"
	}
}

// canonicalName is http.CanonicalHeaderKey for each name.
func TestCanonicalName(t *testing.T) {
	parts := []string{"", "a", "A", "-", "Ab", "aB", "1", "Content", "type", " ", "\x80", "_", "ETag", "WWW"}
	for _, a := range parts {
		for _, b := range parts {
			for _, c := range parts {
				for _, k := range []string{a + b + c, a + "-" + b + c} {
					if got, want := canonicalName(k), http.CanonicalHeaderKey(k); got != want {
						t.Errorf("%q is %q, want %q", k, got, want)
					}
				}
			}
		}
	}
}
