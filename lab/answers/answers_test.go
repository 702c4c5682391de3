package answers

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale/lab/plan"
	"github.com/galehttp/gale/lab/servers/work"
)

// hello answers GET / as all servers must.
func hello(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Server", work.Server)
	h.Set("Content-Type", work.PlainText)
	_, _ = w.Write([]byte(work.Greeting))
}

func TestCheckFindsWhatDiffers(t *testing.T) {
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		want    string // in the error; empty: none
	}{
		{"equal", hello, ""},
		{"status", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }, "status 204"},
		{"body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", "x")
			w.Header().Set("Content-Type", work.PlainText)
			_, _ = w.Write([]byte("Hello, World!"))
		}, "a body of 13 bytes"},
		{"content type", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", "x")
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(work.Greeting))
		}, "Content-Type"},
		{"no Server", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", work.PlainText)
			_, _ = w.Write([]byte(work.Greeting))
		}, "no Server"},
		{"no Date", func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Date"] = nil
			hello(w, r)
		}, "no Date"},
		{"no Content-Length", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Transfer-Encoding", "chunked")
			hello(w, r)
		}, "no Content-Length"},
		{"coded", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			hello(w, r)
		}, "Content-Encoding"},
		{"closes", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			hello(w, r)
		}, "second request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := httptest.NewServer(test.handler)
			defer s.Close()
			_, err := Check(t.Context(), s.Listener.Addr().String(), &plan.Find("hello").Cases[0])
			switch {
			case test.want == "" && err != nil:
				t.Errorf("an equal server differs: %v", err)
			case test.want != "" && err == nil:
				t.Errorf("no error, want one with %q", test.want)
			case test.want != "" && !strings.Contains(err.Error(), test.want):
				t.Errorf("error %q, want one with %q", err, test.want)
			}
		})
	}
}

func TestCheckNamesOtherFields(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Powered-By", "a test")
		hello(w, r)
	}))
	defer s.Close()
	extra, err := Check(t.Context(), s.Listener.Addr().String(), &plan.Find("hello").Cases[0])
	if err != nil || len(extra) != 1 || extra[0] != "X-Powered-By" {
		t.Errorf("extra %q, %v; want X-Powered-By", extra, err)
	}
}
