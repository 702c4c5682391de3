package message

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// zeros reads as zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A form that was read from a stream is sent from its files, with a length, and not whole from
// memory: over both protocols, by Write, after a redirect, for another attempt, and again. (A PipelineClient holds its
// requests whole.)
func TestFormIsSentFromItsFiles(t *testing.T) {
	const size = 12 << 20
	var b bytes.Buffer
	mw := multipart.NewWriter(&b)
	if err := mw.WriteField("role", "user"); err != nil {
		t.Fatal("writing a field:", err)
	}
	if _, err := mw.CreateFormFile("file", "zeros"); err != nil {
		t.Fatal("writing a file:", err)
	}
	head := bytes.Clone(b.Bytes())
	b.Reset()
	if err := mw.Close(); err != nil {
		t.Fatal("ending the form:", err)
	}
	var received atomic.Value
	var broken atomic.Int32
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			w.Header().Set("Location", "/")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		if r.URL.Path == "/break" && broken.Add(1)%2 == 1 {
			_, _ = io.CopyN(io.Discard, r.Body, size/2)
			panic(http.ErrAbortHandler)
		}
		mr, err := r.MultipartReader()
		read := fmt.Sprint(r.ContentLength > size, " ", err)
		for err == nil {
			var p *multipart.Part
			if p, err = mr.NextPart(); err == nil {
				n, err := io.Copy(io.Discard, p)
				read += fmt.Sprint(" ", p.FormName(), " ", n, " ", err)
			}
		}
		received.Store(read + " " + err.Error())
	}))
	up.Config.Protocols = peers.Protocols(1, 2)
	up.Start()
	t.Cleanup(up.Close)
	addr := up.Listener.Addr().String()
	h1, h2 := &gale.HostClient{Addr: addr}, &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
	t.Cleanup(func() { h1.CloseIdleConnections(); h2.CloseIdleConnections() })
	ways := map[string]func(*gale.Request) error{
		"HTTP/1": func(req *gale.Request) error { return h1.Do(req, nil) },
		"HTTP/2": func(req *gale.Request) error { return h2.Do(req, nil) },
		"again": func(req *gale.Request) error {
			if err := h1.Do(req, nil); err != nil {
				return err
			}
			return h2.Do(req, nil)
		},
		"redirect": func(req *gale.Request) error {
			req.SetRequestURI("http://" + addr + "/redirect")
			return new(gale.Client).DoRedirects(req, new(gale.Response), 3)
		},
		"another attempt": func(req *gale.Request) error {
			req.SetRequestURI("http://" + addr + "/break")
			return (&gale.HostClient{Addr: addr, RetryIfErr: func(*gale.Request, int, error) (bool, bool) { return false, true }}).Do(req, nil)
		},
		"Write": func(req *gale.Request) error {
			n, err := req.WriteTo(io.Discard)
			received.Store(fmt.Sprintf("%v <nil> role 4 <nil> file %d <nil> EOF", n > size, size))
			return err
		},
	}
	for name, way := range ways {
		for _, chunked := range []bool{false, true} {
			grown, err := uint64(0), error(nil)
			s := harness.Start(t, &gale.Server{StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
				if _, err = ctx.MultipartForm(); err != nil {
					return
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				err = way(&ctx.Request)
				runtime.ReadMemStats(&after)
				grown = after.TotalAlloc - before.TotalAlloc
			})
			received.Store("nothing")
			body := io.MultiReader(bytes.NewReader(head), io.LimitReader(zeros{}, size), bytes.NewReader(b.Bytes()))
			r, rerr := http.NewRequestWithContext(t.Context(), "POST", "http://"+s.Addr, body)
			if rerr != nil {
				t.Fatal("making the request:", rerr)
			}
			r.Header.Set("Content-Type", mw.FormDataContentType())
			if !chunked {
				r.ContentLength = int64(len(head)) + size + int64(b.Len())
			}
			resp, rerr := http.DefaultClient.Do(r)
			if rerr != nil {
				t.Fatalf("%s: no answer: %v", name, rerr)
			}
			resp.Body.Close()
			want := fmt.Sprintf("true <nil> role 4 <nil> file %d <nil> EOF", size)
			if got := received.Load(); err != nil || got != want {
				t.Errorf("%s, chunked %v: the receiver has read %q, want %q; %v", name, chunked, got, want, err)
			}
			t.Logf("%s, chunked %v: %d KiB were allocated", name, chunked, grown>>10)
			if grown > size/3 && !race.Enabled { // with the detector, pools drop what they get
				t.Errorf("%s, chunked %v: %d bytes were allocated to send a form with a file of %d", name, chunked, grown, size)
			}
		}
	}
}
