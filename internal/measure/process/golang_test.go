package process

import (
	"expvar"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/measure/figures"
)

func TestGoReader(t *testing.T) {
	vars := http.NewServeMux()
	vars.Handle("/debug/vars", expvar.Handler())
	vars.HandleFunc("/wrong/vars", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(`{"a":1}`)) })
	vars.HandleFunc("/text", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("hello")) })
	vars.HandleFunc("/endless/pprof/", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	v, p := httptest.NewServer(vars), httptest.NewServer(profiles)
	defer v.Close()
	defer p.Close()
	tests := []struct {
		name, url  string
		goroutines bool
		err        string
	}{
		{"expvar by host", v.URL, false, ""},
		{"expvar by path", v.URL + "/debug/vars", false, ""},
		{"pprof by host", p.URL + "/", true, ""},
		{"pprof by path", p.URL + "/debug/pprof", true, ""},
		{"pprof by a profile", p.URL + "/debug/pprof/heap?debug=1", true, ""},
		{"nothing there", v.URL + "/none", false, "status 404"},
		{"no memstats", v.URL + "/wrong/vars", false, "no memstats"},
		{"not JSON", v.URL + "/text", false, "invalid character"},
		{"endless", v.URL + "/endless/pprof/", false, "figures can't be read"},
		{"no address", "127.0.0.1:80", false, "is not an address"},
		{"not HTTP", "ftp://127.0.0.1/", false, "is not an address"},
		{"nobody listens", "http://127.0.0.1:1/debug/vars", false, "refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := newGoReader(tt.url)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error is %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			f, err := r.look()
			if err != nil {
				t.Fatal(err)
			}
			if f.heap <= 0 || f.mallocs == 0 || f.allocated == 0 || (f.goroutines > 0) != tt.goroutines {
				t.Errorf("figures are %+v", f)
			}
		})
	}
}

var sink []byte

func TestMeterOfGo(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/debug/vars", expvar.Handler())
	s := httptest.NewServer(mux)
	defer s.Close()
	m, err := NewMeter(Options{GoURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.Begin()
	for { // until the first figures of the counted time are there
		if p := m.goes; func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.state == goCounted }() {
			break
		}
	}
	for range 1000 {
		sink = make([]byte, 10_000)
	}
	m.End()
	run := &figures.Run{Seconds: 1, Requests: figures.Requests{Good: 1000}}
	m.Fill(run)
	if s := run.Server; s == nil || s.PID != 0 || s.HeapByte == 0 || s.AllocsPerRequest < 1 || s.AllocatedPerRequest < 10_000 {
		t.Errorf("server is %+v", s)
	}
}
