package server

import (
	"bufio"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A guard that only overwrites memory changes nothing in a program that uses bytes in a
// stream, or files of a form, too late, except these files in tests with the race detector.
func TestGuardInProductionChangesNothing(t *testing.T) {
	got := make(chan *multipart.FileHeader, 1)
	s, _ := harness.Guarded(t, &gale.Server{})
	var last *gale.RequestCtx
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
		last = ctx
		if fh, err := ctx.FormFile("f"); err == nil {
			got <- fh
			return
		}
		path := ctx.Path()
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Write(path) })
	})
	c := ts.Dial()
	c.Send(peers.Get("/alice"))
	c.Want("GET", 200, "/alice")
	const form = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\nalice\r\n--b--\r\n"
	c.Send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n%s", len(form), form))
	c.Want("POST", 200, "")
	fh := <-got
	harness.Ended(t, last)
	harness.Gone(t, last)
	f, err := fh.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, _ := io.ReadAll(f); (string(b) == "alice") == race.Enabled {
		t.Errorf("the file is %q", b)
	}
}

var lateSink int

// hasEnded reports whether b is memory that has ended: it faults, or was overwritten.
func hasEnded(b []byte) bool {
	var text string
	u := peers.LateFault(func() { text = string(b) })
	return u != nil || len(b) > 0 && !peers.HasAlice([]byte(text))
}

// eachGuard runs f with a guard that overwrites memory, and with one that has pages.
func eachGuard(t *testing.T, f func(t *testing.T, g *gale.LifetimeGuard)) {
	t.Run("overwritten", func(t *testing.T) { f(t, &gale.LifetimeGuard{}) })
	t.Run("pages", func(t *testing.T) {
		g := &gale.LifetimeGuard{Pages: true, MaxBytes: 4 << 20}
		if !harness.GuardIn(g).HasPages() {
			t.Skip(harness.GuardIn(g).PagesErr())
		}
		f(t, g)
	})
}

// The bytes of a guarded request or response of a pool end when it is reset, and the object
// is as a new one.
func TestResetEndsBytes(t *testing.T) {
	eachGuard(t, func(t *testing.T, g *gale.LifetimeGuard) {
		harness.GuardPools(t, g)
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.KeepBodyBuffer, resp.KeepBodyBuffer = true, true
		for range gate.Form(20, 3) {
			for _, length := range []int{10, 100_000} {
				body := strings.Repeat("alice", length)
				req.SetRequestURI("http://alice.test/alice?q=alice")
				req.Header.SetCookie("sid", "alice")
				req.Header.SetContentType("application/x-www-form-urlencoded")
				req.SetBodyString("user=alice&data=" + body)
				resp.Header.Set("X-User", "alice")
				resp.SetBodyString(body)
				kept := map[string][]byte{
					"path": req.URI().Path(), "query": req.URI().QueryArgs().Peek("q"), "cookie": req.Header.Cookie("sid"),
					"form": req.PostArgs().Peek("user"), "request body": req.Body(),
					"header": resp.Header.Peek("X-User"), "response body": resp.Body(),
				}
				for name, b := range kept {
					if !peers.HasAlice(b) {
						t.Fatalf("%s is %q", name, b)
					}
				}
				req.Reset()
				resp.Reset()
				for name, b := range kept {
					if !hasEnded(b) {
						t.Errorf("%s is still there", name)
					}
				}
				if s := req.String() + resp.String() + req.PostArgs().String() + req.URI().String(); strings.Contains(s, "alice") {
					t.Fatalf("a part is left: %q", s)
				}
				req.Reset() // PostArgs has looked for a form
				if !req.KeepBodyBuffer || !resp.KeepBodyBuffer {
					t.Error("KeepBodyBuffer was changed")
				}
			}
		}
		gale.ReleaseRequest(req)
		gale.ReleaseResponse(resp)
		if n := harness.GuardIn(g).Stats().Reports; g.Pages == (n == 0) {
			t.Errorf("%d reports", n) // with pages, those of hasEnded
		}
	})
}

// So do they when a client uses the response for its next call.
func TestNextCallEndsBytes(t *testing.T) {
	eachGuard(t, func(t *testing.T, g *gale.LifetimeGuard) {
		ts := harness.Start(t, &gale.Server{GuardLifetimes: &gale.LifetimeGuard{Every: 1 << 30}}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/redirect" {
				ctx.Redirect("/alice", gale.StatusFound)
				return
			}
			ctx.Response.Header.SetBytesV("X-Path", ctx.Path())
			ctx.Write(ctx.Path())
		})
		harness.GuardPools(t, g)
		host := &gale.HostClient{Addr: "h", Dial: func(string) (net.Conn, error) { return ts.Dial().Conn, nil }}
		pipe := &gale.PipelineClient{Addr: "h", Dial: host.Dial}
		for name, do := range map[string]func(*gale.Request, *gale.Response) error{
			"Do": host.Do, "PipelineClient": pipe.Do,
			"DoRedirects": func(req *gale.Request, resp *gale.Response) error { return host.DoRedirects(req, resp, 2) },
		} {
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			get := func(path string) []byte {
				req.SetRequestURI("http://h" + path)
				if err := do(req, resp); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return resp.Body()
			}
			body := get("/alice")
			if name == "DoRedirects" {
				body = get("/redirect")
			}
			header := resp.Header.Peek("X-Path")
			if string(body) != "/alice" || string(header) != "/alice" {
				t.Fatalf("%s: got %q and %q", name, body, header)
			}
			if next := get("/other"); string(next) != "/other" {
				t.Errorf("%s: then got %q", name, next)
			}
			if !hasEnded(body) || !hasEnded(header) {
				t.Errorf("%s: bytes of the first response are still there", name)
			}
			gale.ReleaseRequest(req)
			gale.ReleaseResponse(resp)
		}
	})
}

// paged returns a server with a guard that has pages for each request, and what it reports.
func paged(t *testing.T, s *gale.Server) (*gale.Server, *harness.Uses) {
	s, u := harness.Guarded(t, s)
	s.GuardLifetimes.Pages, s.GuardLifetimes.MaxBytes = true, 64<<20
	if !harness.GuardIn(s.GuardLifetimes).HasPages() {
		t.Skip(harness.GuardIn(s.GuardLifetimes).PagesErr())
	}
	return s, u
}

// A slice of the request that the stream of the response uses has ended. The response is
// sent as it was set, and what may be the stream lasts.
func TestBytesInStreams(t *testing.T) {
	const form = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"alice\"\r\n\r\nalice\r\n--b--\r\n"
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		late := make(chan *lifetime.Use, 1)
		use := func(b []byte) { late <- peers.LateFault(func() { lateSink += int(b[0]) }) }
		var failed error
		stream := false
		handler := func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetBytesV("X-Path", ctx.Path())
			path, body := ctx.Path(), ctx.Request.Header.ContentType()
			switch string(path) {
			case "/writer":
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					w.WriteString("sent")
					use(path)
				})
			case "/reader":
				r := io.MultiReader(strings.NewReader("sent"), peers.ReaderFunc(func([]byte) (int, error) { use(body); return 0, io.EOF }))
				ctx.SetBodyStream(r, -1)
			case "/compressed":
				ctx.SetBodyStream(io.MultiReader(strings.NewReader("sent"), peers.ReaderFunc(func([]byte) (int, error) { use(body); return 0, io.EOF })), -1)
				gale.CompressHandler(func(*gale.RequestCtx) {})(ctx)
			case "/parts":
				r, err := ctx.Request.MultipartReader()
				if err != nil {
					failed = err
					return
				}
				part, err := r.NextPart()
				failed = err
				ctx.SetBodyStream(io.MultiReader(part), -1)
			case "/file":
				fh, err := ctx.FormFile("f")
				if err != nil {
					failed = err
					return
				}
				f, err := fh.Open()
				failed = err
				ctx.SetBodyStream(io.MultiReader(f), int(fh.Size))
			case "/echo":
				ctx.SetBodyStream(io.MultiReader(ctx.RequestBodyStream()), -1)
			}
		}
		for _, stream = range []bool{false, true} {
			s, u := paged(t, &gale.Server{Handler: handler, StreamRequestBody: stream})
			hs := way.Start(t, s)
			c := hs.Client(major)
			for _, tt := range []struct {
				path, want string
				late       bool
			}{
				{"/writer", "sent", true}, {"/reader", "sent", true}, {"/compressed", "sent", true},
				{"/parts", "alice", false}, {"/file", "alice", false}, {"/echo", form, false},
			} {
				if tt.path == "/echo" && !stream {
					continue
				}
				// The stream may read a streamed body that the handler has not read.
				isLate := tt.late && !stream
				if got := peers.Upload(t, c, hs.URL(tt.path), strings.NewReader(form)); got != tt.want || failed != nil {
					t.Errorf("%s: sent %q, error %v", tt.path, got, failed)
				}
				if tt.late {
					if u := <-late; (u != nil) != isLate || isLate && u.Origin.Path != tt.path {
						t.Errorf("%s, streamed %v: a use of bytes led to %v", tt.path, stream, u)
					}
				}
			}
			if late := u.Take(); len(late) > 0 {
				gate.Unforgiven(t, "a report: %v", late[0])
			}
		}
	})
}

// Files of a form that are kept have no contents when the request has ended, unless the
// context belongs to the program.
func TestKeptFormFiles(t *testing.T) {
	peers.InTempDir(t)
	part := func(name, content string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"" + name + "\"\r\n\r\n" + content + "\r\n"
	}
	form := part("memory", "alice") + part("disk", strings.Repeat("alice", 7<<20/5)) + "--b--\r\n"
	type kept struct {
		ctx  *gale.RequestCtx
		open multipart.File
		all  map[string]*multipart.FileHeader
	}
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		got := make(chan kept, 1)
		s, _ := paged(t, &gale.Server{MaxRequestBodySize: 64 << 20, Handler: func(ctx *gale.RequestCtx) {
			k := kept{ctx: ctx, all: map[string]*multipart.FileHeader{}}
			for _, name := range []string{"memory", "disk"} {
				fh, err := ctx.FormFile(name)
				if err != nil {
					panic(err)
				}
				k.all[name] = fh
			}
			k.open, _ = k.all["memory"].Open()
			if string(ctx.Path()) == "/detached" {
				k.ctx = ctx.Detach()
			}
			got <- k
		}})
		hs := harness.H2Way{Engine: e}.Start(t, s)
		for _, path := range []string{"/lent", "/detached"} {
			peers.Upload(t, hs.Client(1), hs.URL(path), strings.NewReader(form))
			k := <-got
			if path == "/lent" {
				harness.Gone(t, k.ctx)
			}
			for name, fh := range k.all {
				if fh.Filename != name {
					t.Errorf("%s: the name of %s is %q", path, name, fh.Filename)
				}
				f, err := fh.Open()
				if err != nil {
					t.Fatal(err)
				}
				u := peers.LateFault(func() { _, err = f.Read(make([]byte, 5)) })
				if lent := path == "/lent"; (u != nil) != lent || lent && u.Origin.Path != path || err != nil {
					t.Errorf("%s: reading %s led to %v and %v", path, name, u, err)
				}
				f.Close()
			}
			if u := peers.LateFault(func() { k.open.Read(make([]byte, 5)) }); (u != nil) != (path == "/lent") {
				t.Errorf("%s: reading the open file led to %v", path, u)
			}
			if path == "/detached" {
				k.ctx.Request.RemoveMultipartFormFiles()
			}
		}
	})
}
