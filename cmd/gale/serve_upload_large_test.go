package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	cigate "github.com/galehttp/gale/tests/harness/gate"
)

// An upload of 2 GiB and more is stored whole. Run it with GOARCH=386.
func TestUploadBeyondInt(t *testing.T) {
	if !cigate.Full() {
		t.Skip("it writes 2 GiB; TestPartBeyondInt of package upload is its short form")
	}
	dir := site(t, nil)
	l := serveLocal(t, dir, "-upload", "-upload-max", "3GB")
	const size = 1<<31 + 10
	req, err := http.NewRequestWithContext(t.Context(), "PUT", l.url+"large", io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatal("making the request:", err)
	}
	req.ContentLength = size
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal("sending the file:", err)
	}
	resp.Body.Close()
	info, err := os.Stat(filepath.Join(dir, "large"))
	if resp.StatusCode != 201 || err != nil || info.Size() != size {
		t.Errorf("status %d; stored is %v, %v", resp.StatusCode, info, err)
	}
}

// zeros reads as zero bytes.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
