package adaptor

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// corners are handlers whose responses are easily another's than net/http's.
var corners = []struct {
	name string
	h    http.HandlerFunc
	long bool // net/http sends over HTTP/2 more than was declared; here the response is broken
}{
	{"nothing", func(http.ResponseWriter, *http.Request) {}, false},
	{"a status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, false},
	{"written", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "text") }, false},
	{"no Date", func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = nil }, false},
	{"no Date, a body", func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = nil; io.WriteString(w, "text") }, false},
	{"own Date", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Date", "then") }, false},
	{"other case", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["x-lower"] = []string{"1", "2"}
		w.Header()["X-lOWER"] = []string{"3"}
		w.Header()["X-Lower"] = []string{"4"}
		w.Header()["etag"] = []string{`"e"`}
		io.WriteString(w, "text")
	}, false},
	{"names that are none", func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"", "x a", "x:y", "x\r\ny: z", "x\ny", "é"} {
			w.Header()[name] = []string{"v"}
		}
		if r.ProtoMajor < 2 { // over HTTP/2 net/http drops the field
			w.Header()["x-v"] = []string{"a\r\nb: c"}
		}
	}, false},
	{"too long", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		io.WriteString(w, "hello")
	}, true},
	{"too long at last", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		io.WriteString(w, "he")
		io.WriteString(w, "llo")
	}, true},
	{"declared for HEAD", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "3")
		io.WriteString(w, "hel"[:len(r.Method)-1]) // 3 bytes for HEAD, else 2
	}, false},
	{"declared, a part for HEAD", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "4")
		io.WriteString(w, "text"[:4-len(r.Method)%3]) // "tex" for HEAD, all for GET
	}, false},
}

// TestCornersAreThoseOfNetHTTP: the same handler sends the same fields, in the same spelling, and
// the same body on a net/http server and on both engines, over HTTP/1.1 and HTTP/2.
func TestCornersAreThoseOfNetHTTP(t *testing.T) {
	for _, row := range corners {
		std := cornersOnNetHTTP(t, row.h)
		for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineAuto} {
			addr := galeServerWith(t, NewFastHTTPHandler(row.h), func(s *gale.Server) { s.Engine = engine })
			for _, line := range []string{"GET /", "HEAD /", "OPTIONS *"} {
				got, want := rawAnswer(t, addr, line), rawAnswer(t, std, line)
				if got != want {
					t.Errorf("%s, %v, %s:\n%s\nnet/http:\n%s", row.name, engine, line, got, want)
				}
			}
			for _, method := range []string{"GET", "HEAD"} {
				c := clientsOf(t)["HTTP/2"]
				got, want := answerOf(t, c, addr, method), answerOf(t, c, std, method)
				if row.long {
					if method == "GET" && !strings.Contains(got, io.ErrUnexpectedEOF.Error()) {
						t.Errorf("%s, %v, HTTP/2: %s", row.name, engine, got)
					}
				} else if got != want {
					t.Errorf("%s, %v, HTTP/2, %s:\n%s\nwant\n%s", row.name, engine, method, got, want)
				}
			}
		}
	}
}

func cornersOnNetHTTP(t *testing.T, h http.Handler) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0), Protocols: peers.Protocols(1, 2)}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// rawAnswer returns a response over HTTP/1.1 as text: its status line, its fields in order of
// their names, and its body. Server and the time are left out.
func rawAnswer(t *testing.T, addr, line string) string {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", line)
	b, err := io.ReadAll(c)
	head, body, ok := strings.Cut(string(b), "\r\n\r\n")
	if !ok || err != nil {
		return fmt.Sprintf("%q, %v", b, err)
	}
	lines := strings.Split(head, "\r\n")
	for i, l := range lines {
		if name, _, _ := strings.Cut(l, ":"); name == "Date" && strings.HasSuffix(l, " GMT") {
			lines[i] = "Date: now"
		}
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Server: ") })
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + fmt.Sprintf("\n%q", body)
}

// answerOf is rawAnswer for a client, with the status, the length and the body first.
func answerOf(t *testing.T, c *http.Client, addr, method string) string {
	req, _ := http.NewRequest(method, "http://"+addr, nil)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		err = io.ErrUnexpectedEOF
	}
	resp.Header.Del("Server")
	if strings.HasSuffix(resp.Header.Get("Date"), " GMT") {
		resp.Header.Set("Date", "now")
	}
	for _, values := range resp.Header {
		slices.Sort(values) // fields in several spellings have no order
	}
	return fmt.Sprintf("%d %d %q %v %v", resp.StatusCode, resp.ContentLength, b, err, resp.Header)
}
