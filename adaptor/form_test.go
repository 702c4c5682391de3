package adaptor

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"os"
	"runtime"
	"testing"

	"github.com/galehttp/gale"
)

// The temporary files of a form that a handler of net/http parses are removed after
// the request, however the handler ends.
func TestFilesOfFormsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	var body bytes.Buffer
	mw := multipart.NewWriter(&body)
	part, err := mw.CreateFormFile("f", "f")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(make([]byte, 64<<10))
	_ = mw.Close()

	files := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	ends := map[string]func(){
		"return": func() {},
		"panic":  func() { panic(http.ErrAbortHandler) },
		"goexit": runtime.Goexit,
	}
	for name, end := range ends {
		h := NewFastHTTPHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if err := r.ParseMultipartForm(1); err != nil {
				t.Error(err)
			}
			if files() != 1 {
				t.Errorf("%s: %d files during the request, want 1", name, files())
			}
			end()
		}))
		var req gale.Request
		req.Header.SetMethod(gale.MethodPost)
		req.Header.SetContentType(mw.FormDataContentType())
		req.SetBody(body.Bytes())
		var ctx gale.RequestCtx
		ctx.Init(&req, nil, nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			h(&ctx)
		}()
		<-done
		if n := files(); n != 0 {
			t.Errorf("%s: %d files left", name, n)
		}
	}
}
