package adaptor

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// heldWriter is the ResponseWriter of a middleware. What is sent through it waits until the write
// deadline has passed, as it may for a client that doesn't read.
type heldWriter struct {
	http.ResponseWriter
	sends, cut chan struct{} // closed when something is sent, and when the deadline has passed
	once       sync.Once
}

func newHeldWriter(w http.ResponseWriter) *heldWriter {
	return &heldWriter{ResponseWriter: w, sends: make(chan struct{}), cut: make(chan struct{})}
}

func (w *heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *heldWriter) WriteHeader(status int) {
	w.once.Do(func() { close(w.sends); <-w.cut })
	w.ResponseWriter.WriteHeader(status)
}

func (w *heldWriter) SetWriteDeadline(d time.Time) error {
	if !d.IsZero() && d.Before(time.Now()) {
		close(w.cut)
	}
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(d)
}

// soon waits until f has returned.
func soon(what string, f func()) error {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("%s has not returned after a minute", what)
	}
}

// While another goroutine sends to a client that doesn't read, no other method of the context waits.
// CloseRequestBody ends a Read, and a time-out ends the sending.
func TestMethodsBesideSending(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version int
		send    func(*gale.RequestCtx) error
	}{
		{"Flush", 1, (*gale.RequestCtx).Flush},
		{"Flush", 2, (*gale.RequestCtx).Flush},
		{"SendInterim", 1, func(ctx *gale.RequestCtx) error { return ctx.SendInterim(gale.StatusProcessing, nil) }},
	} {
		t.Run(fmt.Sprintf("%s/%d", tt.name, tt.version), func(t *testing.T) {
			var held *heldWriter
			sent, read, calls := make(chan error, 1), make(chan error, 1), make(chan error, 10)
			h := NewHTTPHandler(func(ctx *gale.RequestCtx) {
				ctx.SetBodyString("part")
				body := ctx.RequestBodyStream()
				go func() { _, err := io.Copy(io.Discard, body); read <- err }()
				go func() { sent <- tt.send(ctx) }()
				<-held.sends
				for what, call := range map[string]func(){
					"RemoteAddr":       func() { ctx.RemoteAddr() },
					"SetReadDeadline":  func() { _ = ctx.SetReadDeadline(time.Time{}) },
					"SetWriteDeadline": func() { _ = ctx.SetWriteDeadline(time.Time{}) },
					"Conn.SetDeadline": func() { _ = ctx.Conn().SetDeadline(time.Time{}) },
					"Done":             func() { ctx.Done() },
				} {
					calls <- soon(what, call)
				}
				calls <- soon("CloseRequestBody", ctx.CloseRequestBody)
				calls <- soon("a Read after CloseRequestBody", func() {
					if err := <-read; err == nil {
						t.Error("a Read that was broken off returned no error")
					}
				})
				close(calls)
				ctx.TimeoutError("late")
			})
			in, out := io.Pipe() // the body, which goes on as long as the handler runs
			s := serveStd(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer out.Close()
				held = newHeldWriter(w)
				h.ServeHTTP(held, r)
			}))
			go func() { _, _ = io.WriteString(out, "abc") }()
			resp, err := speaks(t, tt.version).Post(s.URL, "text/plain", in)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil {
				t.Error("the client got a whole response")
			}
			for err := range calls {
				if err != nil {
					t.Error("beside what is being sent:", err)
				}
			}
			if err := <-sent; err == nil && tt.name == "Flush" { // net/http doesn't tell what became of a 102
				t.Error("a Flush that was broken off returned no error")
			}
		})
	}
}

// A time-out comes before a sender announces itself, or after that: then it breaks the sending off. It
// never waits for a sender that it hasn't seen.
func TestSealBesideSender(t *testing.T) {
	begin := func() (*outer, *heldWriter) {
		w := newHeldWriter(httptest.NewRecorder())
		return newOuter(w, httptest.NewRequest("GET", "/", nil)), w
	}
	t.Run("sender first", func(t *testing.T) {
		o, w := begin()
		if !o.beginSend() {
			t.Fatal("nothing can be sent")
		}
		if !o.seal() {
			t.Error("seal doesn't say that it has broken something off")
		}
		select {
		case <-w.cut:
		default:
			t.Error("no write deadline ends what is being sent")
		}
		o.endSend()
	})
	t.Run("time-out first", func(t *testing.T) {
		o, _ := begin()
		if o.seal() {
			t.Error("seal says that it has broken something off")
		}
		if o.beginSend() {
			t.Error("a handler that has timed out can send")
		}
		if err := o.SetWriteDeadline(time.Now().Add(time.Hour)); err == nil {
			t.Error("a handler that has timed out can set the write deadline")
		}
	})
}

// readDeadlines is a ResponseWriter that keeps the last read deadline.
type readDeadlines struct {
	http.ResponseWriter
	last time.Time
}

func (w *readDeadlines) SetReadDeadline(d time.Time) error { w.last = d; return nil }

// A read deadline doesn't replace the one by which CloseRequestBody ends a Read: that may not have
// seen it yet.
func TestReadDeadlineAfterCloseBody(t *testing.T) {
	w := &readDeadlines{ResponseWriter: httptest.NewRecorder()}
	NewHTTPHandler(func(ctx *gale.RequestCtx) {
		ctx.CloseRequestBody()
		if err := ctx.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
			t.Error("SetReadDeadline:", err)
		}
		if _, err := ctx.RequestBodyStream().Read(make([]byte, 1)); err == nil {
			t.Error("a Read after CloseRequestBody returned no error")
		}
	}).ServeHTTP(w, httptest.NewRequest("POST", "/", io.NopCloser(strings.NewReader("body"))))
	if !w.last.Equal(time.Unix(1, 0)) {
		t.Errorf("the read deadline is %v", w.last)
	}
}
