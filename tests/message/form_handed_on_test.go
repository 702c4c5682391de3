package message

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// contents returns what is in a form, as text that can be compared.
func contents(f *multipart.Form) string {
	files := map[string][]string{}
	for name, of := range f.File {
		for _, fh := range of {
			file, err := fh.Open()
			if err != nil {
				return err.Error()
			}
			b, err := io.ReadAll(file)
			file.Close()
			files[name] = append(files[name], fmt.Sprintf("%q %q %v", fh.Filename, b, err))
		}
	}
	values := map[string][]string{}
	for name, of := range f.Value {
		if len(of) > 0 {
			values[name] = of
		}
	}
	return fmt.Sprintf("%q %q", values, files)
}

// formReader is a server of net/http that reads forms as package multipart does. It doesn't heed
// content codings.
type formReader struct {
	*httptest.Server
	mu   sync.Mutex
	read string
}

func (f *formReader) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	err := r.ParseMultipartForm(1 << 20)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read = fmt.Sprint(err); err == nil {
		f.read = contents(r.MultipartForm)
	}
}

func (f *formReader) take() (read string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	read, f.read = f.read, "nothing"
	return read
}

// waysOfForms are the ways by which a handler hands its request on to up.
func waysOfForms(t *testing.T, up *formReader) map[string]func(*gale.RequestCtx) error {
	h1 := &gale.HostClient{Addr: up.Listener.Addr().String()}
	h2 := &gale.HostClient{Addr: h1.Addr, HTTP2: gale.HTTP2Only}
	pipe := &gale.PipelineClient{Addr: h1.Addr}
	proxy, err := reverse.New(up.URL)
	if err != nil {
		t.Fatalf("a proxy for %s: %v", up.URL, err)
	}
	t.Cleanup(func() { h1.CloseIdleConnections(); h2.CloseIdleConnections() })
	send := func(req *gale.Request) error { return h1.Do(req, nil) }
	return map[string]func(*gale.RequestCtx) error{
		"HTTP/1":   func(ctx *gale.RequestCtx) error { return send(&ctx.Request) },
		"HTTP/2":   func(ctx *gale.RequestCtx) error { return h2.Do(&ctx.Request, &ctx.Response) },
		"pipeline": func(ctx *gale.RequestCtx) error { return pipe.Do(&ctx.Request, &ctx.Response) },
		"reverse":  func(ctx *gale.RequestCtx) error { proxy.Handler(ctx); return nil },
		"net/http": func(ctx *gale.RequestCtx) error { adaptor.NewFastHTTPHandler(up)(ctx); return nil },
		"twice": func(ctx *gale.RequestCtx) error {
			if err := send(&ctx.Request); err != nil {
				return err
			}
			up.take()
			return send(&ctx.Request)
		},
		"Write and Read": func(ctx *gale.RequestCtx) error {
			var b bytes.Buffer
			if _, err := ctx.Request.WriteTo(&b); err != nil {
				return err
			}
			var req gale.Request
			if err := req.Read(bufio.NewReader(&b)); err != nil {
				return err
			}
			return send(&req)
		},
		"CopyTo": func(ctx *gale.RequestCtx) error {
			var req gale.Request
			ctx.Request.CopyTo(&req)
			return send(&req)
		},
		"Body": func(ctx *gale.RequestCtx) error {
			var req gale.Request
			body := ctx.PostBody()
			ctx.Request.Header.CopyTo(&req.Header)
			req.SetBody(body)
			return errors.Join(ctx.Request.BodyError(), send(&req))
		},
		"SwapBody": func(ctx *gale.RequestCtx) error {
			var req gale.Request
			body := ctx.Request.SwapBody(nil)
			ctx.Request.Header.CopyTo(&req.Header)
			req.SetBody(body)
			return errors.Join(ctx.Request.BodyError(), send(&req))
		},
		"BodyWriteTo": func(ctx *gale.RequestCtx) error {
			var req gale.Request
			if err := ctx.Request.BodyWriteTo(req.BodyWriter()); err != nil {
				return err
			}
			ctx.Request.Header.CopyTo(&req.Header)
			return send(&req)
		},
	}
}

// twoForms returns form encoded by gzip, in bytes in which others find another form.
func twoForms(form []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Comment = "\r\n--B\r\nContent-Disposition: form-data; name=\"role\"\r\n\r\nadmin\r\n--B--\r\n"
	_, _ = w.Write(form)
	_ = w.Close()
	return b.Bytes()
}

// words are parts of contents. Some would end a part if they were not encoded.
var formWords = []string{"a", "user", "\r\n", "\n", "--B", "\r\n--B--\r\n", "\r\n--B\r\nContent-Disposition: form-data; name=\"role\"\r\n\r\nadmin",
	"=", "=0D=0A--B", "quoted-printable", "-", "\x00\xff", "\u00e9"}

// someForm returns a form with the boundary B.
func someForm() []byte {
	pick := func(of ...string) string { return of[gate.Rand.IntN(len(of))] }
	var b bytes.Buffer
	for range gate.Rand.IntN(5) {
		fmt.Fprintf(&b, "--B\r\nContent-Disposition: form-data; name=%s", pick(`"role"`, `"note"`, "role", `"q\"\\"`, "\"\u00e9\"", `"a b"`, `"a"; name*=utf-8''role`))
		b.WriteString(pick("", "", `; filename="a.txt"`, `; filename="../\u00e9"`, `; filename="a"; filename*=utf-8''b`, `; filename=""`))
		var content string
		for range gate.Rand.IntN(4) {
			content += pick(formWords...)
		}
		switch gate.Rand.IntN(3) {
		case 0:
			b.WriteString(pick("", "\r\nContent-Type: text/plain", "\r\nContent-Transfer-Encoding: binary"))
			content = strings.ReplaceAll("\n"+content, "\n--B", "\n-B")[1:] // also where it begins
		default:
			b.WriteString("\r\n" + pick("Content-Transfer-Encoding: quoted-printable", "content-transfer-encoding:  Quoted-Printable"))
			escaped := ""
			for i := range len(content) {
				escaped += fmt.Sprintf("=%02X", content[i])
			}
			content = escaped
		}
		b.WriteString("\r\n\r\n" + content + "\r\n")
	}
	b.WriteString("--B--\r\n" + pick("", "", "epilogue"))
	return b.Bytes()
}

// change changes a form as a program may do.
func change(f *multipart.Form) {
	switch gate.Rand.IntN(5) {
	case 0:
		delete(f.Value, "role")
	case 1:
		f.Value["role"] = []string{"user\r\n--B\r\n"}
	case 2:
		for _, v := range f.Value {
			v[0] += "changed"
		}
	case 3:
		for name, of := range f.File {
			delete(f.File, name)
			f.File["moved"] = of
			break
		}
	default:
		for _, of := range f.File {
			of[0].Filename = "renamed"
		}
	}
}

// Property: what gets a request after a handler has parsed its form reads the form that the
// handler has, whether the body was collected or streamed, a part or all of it was encoded, or the
// handler has changed the form.
func TestFormIsHandedOnAsItWasSeen(t *testing.T) {
	rounds := 12
	if gate.Full() {
		rounds = 1000
	}
	up := &formReader{read: "nothing"}
	up.Server = httptest.NewUnstartedServer(up)
	up.Config.Protocols = peers.Protocols(1, 2)
	up.Start()
	t.Cleanup(up.Close)
	ways := waysOfForms(t, up)
	way, changes, saw := "", false, ""
	handler := func(ctx *gale.RequestCtx) {
		f, err := ctx.MultipartForm()
		if err != nil {
			ctx.Error(err.Error(), gale.StatusBadRequest)
			return
		}
		if changes {
			change(f)
		}
		saw = contents(f)
		if err := ways[way](ctx); err != nil {
			ctx.Error(err.Error(), gale.StatusBadGateway)
		}
	}
	front := httptest.NewServer(adaptor.NewHTTPHandler(handler))
	t.Cleanup(front.Close)
	fronts := map[string]string{"net/http": front.URL}
	for _, streamed := range []bool{false, true} {
		fronts[fmt.Sprintf("streamed %v", streamed)] = "http://" + harness.Start(t, &gale.Server{StreamRequestBody: streamed}, handler).Addr
	}
	for range rounds {
		form := someForm()
		for at, url := range fronts {
			for way = range ways {
				changes = gate.Rand.IntN(2) == 0
				body := form
				coded := gate.Rand.IntN(4) == 0
				if coded {
					body = twoForms(form)
				}
				var r io.Reader = bytes.NewReader(body)
				if gate.Rand.IntN(3) == 0 {
					r = io.MultiReader(r) // chunked
				}
				req, err := http.NewRequest("POST", url, r)
				if err != nil {
					t.Fatalf("a request for %s: %v", url, err)
				}
				req.Header.Set("Content-Type", "multipart/form-data; boundary=B")
				if coded {
					req.Header.Set("Content-Encoding", "gzip")
				}
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatalf("%s has not answered: %v", url, err)
				}
				answer, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if got := up.take(); err != nil || resp.StatusCode != 200 || got != saw {
					t.Errorf("%s, %s, changed %v, coded %v: status %d %q, %v; the handler has\n%s, and read is\n%s, of\n%q", at, way, changes, coded, resp.StatusCode, answer, err, saw, got, form)
				}
			}
		}
	}
}

// What a handler asks a form with a content coding for is what the next one finds in it, however
// it asks, and nothing if it can't be decoded.
func TestFormWithCoding(t *testing.T) {
	up := &formReader{read: "nothing"}
	up.Server = httptest.NewServer(up)
	t.Cleanup(up.Close)
	form := []byte("--B\r\nContent-Disposition: form-data; name=\"role\"\r\n\r\nuser\r\n--B--\r\n")
	asks := map[string]func(*gale.RequestCtx){
		"FormValue":     func(ctx *gale.RequestCtx) { ctx.FormValue("role") },
		"MultipartForm": func(ctx *gale.RequestCtx) { _, _ = ctx.MultipartForm() },
		"MultipartReader": func(ctx *gale.RequestCtx) {
			if r, err := ctx.Request.MultipartReader(); err == nil {
				_, _ = r.NextPart()
			}
		},
		"RemoveMultipartFormFiles": func(ctx *gale.RequestCtx) {
			_, _ = ctx.MultipartForm()
			ctx.Request.RemoveMultipartFormFiles()
		},
	}
	for ask, f := range asks {
		s := harness.Start(t, &gale.Server{}, func(ctx *gale.RequestCtx) {
			f(ctx)
			var req gale.Request
			ctx.Request.CopyTo(&req)
			if err := (&gale.HostClient{Addr: up.Listener.Addr().String()}).Do(&req, nil); err != nil {
				ctx.Error(err.Error(), gale.StatusBadRequest)
			}
		})
		for _, c := range []struct {
			coding string
			body   []byte
			want   string
		}{
			{"gzip", twoForms(form), `map["role":["user"]] map[]`},
			{"gzip", twoForms(form)[:120], "nothing"},
			{"gzip", form, "nothing"},
			{"other", form, "nothing"},
			{"gzip, gzip", twoForms(form), "nothing"},
		} {
			req, err := http.NewRequest("POST", "http://"+s.Addr, bytes.NewReader(c.body))
			if err != nil {
				t.Fatalf("a request for %s: %v", s.Addr, err)
			}
			req.Header.Set("Content-Type", "multipart/form-data; boundary=B")
			req.Header.Set("Content-Encoding", c.coding)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatalf("%s has not answered: %v", s.Addr, err)
			}
			resp.Body.Close()
			if got := up.take(); got != c.want || (resp.StatusCode == 200) != (c.want != "nothing") {
				t.Errorf("%s, %s, %d bytes: status %d, the next one finds %s, want %s", ask, c.coding, len(c.body), resp.StatusCode, got, c.want)
			}
		}
	}
}

// Files that a program has set to nil are left out.
func TestFormWithoutFile(t *testing.T) {
	req := harness.FormRequest(peers.TestForm)
	req.SetRequestURI("http://a/")
	f, err := req.MultipartForm()
	if err != nil {
		t.Fatalf("the form: %v", err)
	}
	f.File["f"] = append(f.File["f"], nil)
	f.File["g"] = []*multipart.FileHeader{nil}
	var b bytes.Buffer
	if _, err := req.WriteTo(&b); err != nil || strings.Contains(b.String(), `"g"`) {
		t.Errorf("written: %q, %v", b.String(), err)
	}
	req.Reset()
}

// WriteMultipartForm refuses what would be read as another form.
func TestWriteMultipartFormDelimiter(t *testing.T) {
	for value, ok := range map[string]bool{
		"--B": false, "x\r\n--B\r\n": false, "x\n--B": false, "x\r--Bc": false, "x\r\n--B--": false,
		"x--B": true, "-\n-B": true, "\n--b": true, "\n --B": true, "\n---B": true, "B": true, "": true,
	} {
		f := &multipart.Form{Value: map[string][]string{"a": {value}}}
		var b bytes.Buffer
		err := gale.WriteMultipartForm(&b, f, "B")
		if (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
		if err == nil {
			got, err := multipart.NewReader(&b, "B").ReadForm(1 << 20)
			if err != nil || contents(got) != contents(f) {
				t.Errorf("%q: %v, %v", value, got, err)
			}
		}
	}
	req := harness.FormRequest(strings.ReplaceAll(peers.TestForm, "file!", "1\r\n--B\r\n2"))
	f, err := req.MultipartForm()
	if err != nil {
		t.Fatalf("a form with a file: %v", err)
	}
	if err := gale.WriteMultipartForm(io.Discard, f, "B"); err == nil {
		t.Error("a file with the delimiter was written")
	}
	f.File["f"][0].Header["X-Y"] = []string{"a\r\nb"}
	if err := gale.WriteMultipartForm(io.Discard, f, "C"); err == nil {
		t.Error("a header field with a line break was written")
	}
}

// A form with a name that can't be written as it is isn't sent on as another one.
func TestFormWithControlsInNames(t *testing.T) {
	for _, params := range []string{"name*=utf-8''a%0Ab", "name=a; filename*=utf-8''%00"} {
		form := "--foo\r\nContent-Disposition: form-data; " + params + "\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nx\r\n--foo--\r\n"
		req := harness.FormRequest(form)
		req.SetRequestURI("http://a/")
		if _, err := req.MultipartForm(); err != nil {
			t.Errorf("%s: %v", params, err)
		}
		if _, err := req.WriteTo(io.Discard); err == nil || req.BodyError() == nil || len(req.Body()) > 0 {
			t.Errorf("%s: written, %v, %q", params, req.BodyError(), req.Body())
		}
	}
}

// A streamed form is a stream again, once, and the header says how long it is.
func TestBodyStreamOfForm(t *testing.T) {
	req := harness.FormRequest("")
	req.SetBodyStream(strings.NewReader(peers.TestForm), len(peers.TestForm))
	f, err := req.MultipartForm()
	if err != nil {
		t.Fatalf("the form of a stream: %v", err)
	}
	stream := req.BodyStream()
	if again := req.BodyStream(); again != stream || !req.IsBodyStream() {
		t.Error("asking for the stream again has made another one")
	}
	f.Value["added"] = []string{"x"}
	if again := req.BodyStream(); again == stream {
		t.Error("a stream has the form as it was before a change")
	} else {
		stream = again
	}
	b, err := io.ReadAll(stream)
	if err != nil || len(b) != req.Header.ContentLength() {
		t.Errorf("%d bytes, %v, Content-Length %d", len(b), err, req.Header.ContentLength())
	}
	got, err := multipart.NewReader(bytes.NewReader(b), string(req.Header.MultipartFormBoundary())).ReadForm(1 << 20)
	if err != nil || contents(got) != contents(f) {
		t.Errorf("%v, %v", got, err)
	}
	if again := req.BodyStream(); again != stream {
		t.Error("a stream that was read is replaced")
	}
	if !bytes.Equal(req.Body(), b) {
		t.Error("Body has another form than the stream")
	}
	req.SetBodyStream(strings.NewReader(peers.TestForm), -1)
	req.Header.SetMultipartFormBoundary("foo")
	if f, err = req.MultipartForm(); err != nil {
		t.Fatalf("the form of the next stream: %v", err)
	}
	stream = req.BodyStream()
	_, _ = stream.Read(make([]byte, 1))
	f.Value["added"] = []string{"x"}
	if again := req.BodyStream(); again != nil || req.BodyError() == nil {
		t.Errorf("after a change, a form of which a part was read is %v, %v", again, req.BodyError())
	}
	req.Reset()
	if n, err := stream.Read(make([]byte, 9)); n > 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a stream of a request that is over: %d bytes, %v", n, err)
	}
}
