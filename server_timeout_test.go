package gale

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A handler that has timed out may still call every method of its context: the server
// uses nothing that they change. The race detector checks that.
func TestTimedOutHandlerGoesOn(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		var late sync.WaitGroup
		over := make(chan struct{})
		h := TimeoutHandler(func(ctx *RequestCtx) {
			defer late.Done()
			for n := 0; ctx.LastTimeoutErrorResponse() == nil; n++ {
				ctx.Hijack(func(net.Conn) { t.Error("the connection was hijacked") })
				ctx.SetUserValue("n", n)
				ctx.Response.Header.Set("X-Late", "1")
				_ = ctx.SetWriteDeadline(time.Time{})
				ctx.CloseRequestBody()
			}
			for n := 0; ; n++ {
				ctx.Hijack(func(net.Conn) { t.Error("the connection was hijacked") })
				ctx.HijackSetNoResponse(true)
				ctx.SetUserValue("n", n)
				ctx.Response.Header.Set("X-Late", "1")
				ctx.WriteString("late")
				ctx.SetBodyStreamWriter(nil)
				ctx.SetStatusCode(500)
				ctx.SetConnectionClose()
				_ = ctx.SetWriteDeadline(time.Time{})
				_ = ctx.SetReadDeadline(time.Time{})
				_ = ctx.EarlyHints()
				_ = ctx.SendInterim(StatusProcessing, nil)
				_ = ctx.Flush()
				ctx.LimitRequestBody(1)
				ctx.CloseRequestBody()
				_ = ctx.Err()
				_, _ = ctx.Request.BodyStream().Read(make([]byte, 1))
				select {
				case <-over:
					return
				default:
				}
			}
		}, time.Millisecond, "late")
		ts := startServer(t, &Server{Engine: e, StreamRequestBody: true}, h)
		for range 8 { // each of them keeps a processor busy
			late.Add(1)
			c := ts.dial()
			c.send(post("/", "body"))
			c.want("POST", 408, "late")
		}
		close(over)
		late.Wait()
	})
}

// TimeoutError removes the temporary files of a form, even of one that is parsed later.
// After a timeout of TimeoutHandler they are removed when its handler has returned. If
// TimeoutHandlers are nested, what the request holds is closed once, when none of their
// handlers runs any more, whichever of them times out first.
func TestTimeoutHandlersNested(t *testing.T) {
	const soon, never = time.Millisecond, time.Hour
	for _, tc := range []struct {
		name                string
		outer, inner        time.Duration
		innermost, betweens bool // wait until the answer has come
	}{
		{"outer", soon, never, true, false},
		{"outer, with code between", soon, never, false, true},
		{"inner", never, soon, true, false},
		{"both", soon, 2 * soon, true, true},
	} {
		onEngines(t, func(t *testing.T, e Engine) {
			var running atomic.Int32
			answered, closed := make(chan struct{}), make(chan int32, 2)
			inner := TimeoutHandler(func(ctx *RequestCtx) {
				running.Add(1)
				defer running.Add(-1)
				ctx.SetUserValue("v", closeFunc(func() error { closed <- running.Load(); return nil }))
				for ctx.LastTimeoutErrorResponse() == nil {
					runtime.Gosched()
				}
				if tc.innermost {
					<-answered
				}
			}, tc.inner, "late")
			h := TimeoutHandler(func(ctx *RequestCtx) {
				running.Add(1)
				defer running.Add(-1)
				inner(ctx)
				if tc.betweens {
					<-answered
				}
			}, tc.outer, "late")
			ts := startServer(t, &Server{Engine: e}, h)
			c := ts.dial()
			c.send(get("/"))
			c.want("GET", StatusRequestTimeout, "late")
			close(answered)
			if n := <-closed; n != 0 {
				t.Errorf("%s: closed while %d handlers run", tc.name, n)
			}
		})
	}
}

func TestTimeoutRemovesFormFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	var b bytes.Buffer
	mw := multipart.NewWriter(&b)
	w, _ := mw.CreateFormFile("f", "f.bin")
	w.Write(make([]byte, maxFormMemory+1<<20))
	mw.Close()
	form := func(ctx *RequestCtx) error {
		f, err := ctx.MultipartForm()
		if err != nil {
			return err
		}
		r, err := f.File["f"][0].Open()
		if err != nil {
			return err
		}
		_, isFile := r.(*os.File)
		if r.Close(); !isFile {
			t.Error("the form is in memory")
		}
		return nil
	}
	ended := make(chan error, 1)
	proceed := make(chan struct{})
	handlers := map[string]RequestHandler{
		"/before": func(ctx *RequestCtx) {
			err := form(ctx)
			ctx.TimeoutError("late")
			ended <- err
		},
		"/after": func(ctx *RequestCtx) {
			ctx.TimeoutError("late")
			if err := form(ctx); !errors.Is(err, errFormTimedOut) {
				t.Errorf("a form was parsed after TimeoutError: %v", err)
			}
			ended <- nil
		},
		"/response": func(ctx *RequestCtx) {
			err := form(ctx)
			ctx.TimeoutErrorWithResponse(&Response{})
			ended <- err
		},
		"/handler": TimeoutHandler(func(ctx *RequestCtx) {
			ctx.SetUserValue("end", closeFunc(func() error { ended <- nil; return nil }))
			<-ctx.Done()
			<-proceed
			if err := form(ctx); err != nil { // the form belongs to the handler until it returns
				t.Error(err)
			}
		}, 10*time.Millisecond, "late"),
	}
	ts := startServer(t, &Server{MaxRequestBodySize: 64 << 20}, func(ctx *RequestCtx) { handlers[string(ctx.Path())](ctx) })
	for path := range handlers {
		c := ts.dial()
		c.send("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Type: " + mw.FormDataContentType() + "\r\n")
		c.send("Content-Length: " + itoa(b.Len()) + "\r\n\r\n")
		c.send(b.String())
		c.read("POST")
		if path == "/handler" {
			close(proceed)
		}
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(files) == 0 {
				break
			}
			if path != "/handler" || time.Now().After(deadline) { // for that path the user values are closed first
				t.Fatalf("%s: %v is left", path, files)
			}
		}
	}
}

// closeFunc is a user value that is closed.
type closeFunc func() error

func (f closeFunc) Close() error { return f() }

var _ io.Closer = closeFunc(nil)
