package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/tests/harness/peers"
)

// closeRecorder is a body stream that records how it was closed.
type closeRecorder struct {
	io.Reader
	closed  int
	reasons []error
	err     error
}

func (c *closeRecorder) Close() error { c.closed++; return c.err }

type reasonRecorder struct{ closeRecorder }

func (c *reasonRecorder) CloseWithError(err error) error {
	c.reasons = append(c.reasons, err)
	return c.err
}

func TestBodyForms(t *testing.T) {
	var resp gale.Response
	if resp.Body() != nil || resp.BodyStream() != nil || resp.IsBodyStream() {
		t.Fatal("the zero value has a body")
	}
	resp.SetBody([]byte("abc"))
	resp.AppendBody([]byte("def"))
	resp.AppendBodyString("gh")
	_, _ = resp.BodyWriter().Write([]byte("i"))
	_, _ = io.WriteString(resp.BodyWriter(), "j")
	if got := string(resp.Body()); got != "abcdefghij" {
		t.Fatalf("got %q", got)
	}
	raw := []byte("raw")
	resp.SetBodyRaw(raw)
	if got := resp.Body(); &got[0] != &raw[0] {
		t.Fatal("SetBodyRaw copied")
	}
	resp.AppendBodyString("new")
	if got := string(resp.Body()); got != "new" {
		t.Fatalf("AppendBody keeps a raw body: %q", got)
	}
	if string(raw) != "raw" {
		t.Fatal("a raw body was written to")
	}
	resp.SetBodyStream(strings.NewReader("stream"), -1)
	if !resp.IsBodyStream() || string(resp.Body()) != "stream" || resp.IsBodyStream() {
		t.Fatal("Body doesn't take the stream in")
	}
	resp.SetBodyStream(io.MultiReader(strings.NewReader("ab"), peers.ErrReader{Err: errors.New("boom")}), -1)
	if got := string(resp.Body()); got != "" || fmt.Sprint(resp.BodyError()) != "boom" {
		t.Fatalf("a stream that fails leaves %q, %v", got, resp.BodyError())
	}
	resp.SetBodyString("")
	if len(resp.Body()) != 0 || resp.BodyError() != nil {
		t.Fatal("not empty")
	}
}

func TestBodyReplacedStreamIsClosed(t *testing.T) {
	for name, replace := range map[string]func(*gale.Request){
		"SetBody":          func(r *gale.Request) { r.SetBody([]byte("x")) },
		"SetBodyString":    func(r *gale.Request) { r.SetBodyString("x") },
		"SetBodyRaw":       func(r *gale.Request) { r.SetBodyRaw([]byte("x")) },
		"AppendBody":       func(r *gale.Request) { r.AppendBody([]byte("x")) },
		"AppendBodyString": func(r *gale.Request) { r.AppendBodyString("x") },
		"SetBodyStream":    func(r *gale.Request) { r.SetBodyStream(strings.NewReader(""), 0) },
		"SwapBody":         func(r *gale.Request) { r.SwapBody([]byte("x")) },
		"Body":             func(r *gale.Request) { r.Body() },
		"BodyWriteTo":      func(r *gale.Request) { _ = r.BodyWriteTo(io.Discard) },
		"ResetBody":        func(r *gale.Request) { r.ResetBody() },
		"CloseBodyStream":  func(r *gale.Request) { _ = r.CloseBodyStream() },
		"Reset":            func(r *gale.Request) { r.Reset() },
	} {
		var req gale.Request
		c := &reasonRecorder{closeRecorder{Reader: strings.NewReader("old")}}
		req.SetBodyStream(c, -1)
		replace(&req)
		if c.closed != 1 || len(c.reasons) != 1 || c.reasons[0] != nil {
			t.Errorf("%s: closed %d times, reasons %v", name, c.closed, c.reasons)
		}
	}
}

// A body may be set from, or extended by, a part of itself.
func TestBodyAliasesItself(t *testing.T) {
	for _, size := range []int{1, 10, 500, 512, 513, 5000, 100_000} {
		var resp gale.Response
		text := strings.Repeat("0123456789", size/10+1)[:size]
		resp.SetBodyString(text)
		resp.AppendBody(resp.Body())
		if string(resp.Body()) != text+text {
			t.Fatalf("size %d: appending the body to itself", size)
		}
		resp.SetBody(resp.Body()[size/2:])
		if string(resp.Body()) != (text + text)[size/2:] {
			t.Fatalf("size %d: setting the body to its own end", size)
		}
	}
}

// A slice that Body returned stays as it is when the body grows.
func TestBodySliceSurvivesGrowth(t *testing.T) {
	var resp gale.Response
	resp.SetBodyString(strings.Repeat("a", 512))
	old := resp.Body()
	resp.AppendBodyString("b")
	for range 8 { // buffers that are acquired now must not have that memory
		b := pool.Get(512)
		b.B = append(b.B, strings.Repeat("z", 512)...)
	}
	if string(old) != strings.Repeat("a", 512) {
		t.Fatal("the slice was recycled")
	}
}

func TestSwapBody(t *testing.T) {
	var req gale.Request
	req.SetBodyString("old")
	p := []byte("new")
	if got := string(req.SwapBody(p)); got != "old" {
		t.Fatalf("swapped out %q", got)
	}
	if b := req.Body(); &b[0] != &p[0] {
		t.Fatal("SwapBody copied")
	}
	req.SetBodyStream(strings.NewReader("stream"), 6)
	if got := string(req.SwapBody(nil)); got != "stream" || req.IsBodyStream() {
		t.Fatalf("swapped out %q", got)
	}
	if got := req.SwapBody([]byte("x")); len(got) != 0 {
		t.Fatalf("swapped out %q", got)
	}
	req.Reset()
	if len(req.Body()) != 0 {
		t.Fatal("Reset left the body")
	}
}

// After a long random series of operations the body is the same as a plain slice would
// be.
func TestBodyMatchesModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	text := bytes.Repeat([]byte("The quick brown fox. "), 500)
	var req gale.Request
	var model []byte
	for i := range 20_000 {
		p := text[:rng.IntN(1<<rng.IntN(13))]
		switch rng.IntN(12) {
		case 0:
			req.SetBody(p)
			model = append([]byte(nil), p...)
		case 1:
			req.SetBodyRaw(p)
			model = nil // appending drops it
			if !bytes.Equal(req.Body(), p) {
				t.Fatal("raw")
			}
			req.ResetBody()
		case 2:
			req.ResetBody()
			model = nil
		case 3:
			old := req.SwapBody(append([]byte(nil), p...))
			if !bytes.Equal(old, model) {
				t.Fatalf("step %d: SwapBody returned %d bytes, want %d", i, len(old), len(model))
			}
			model = append([]byte(nil), p...)
		case 4:
			if len(model) > 0 {
				k := rng.IntN(len(model))
				req.SetBody(req.Body()[k:])
				model = append([]byte(nil), model[k:]...)
			}
		default:
			if len(model) < 1<<16 {
				req.AppendBody(p)
				model = append(model, p...)
			}
		}
		if !bytes.Equal(req.Body(), model) {
			t.Fatalf("step %d: %d bytes, want %d", i, len(req.Body()), len(model))
		}
	}
}
