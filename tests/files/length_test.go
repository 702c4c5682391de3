package files

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// Lengths and ranges of a file that an int of 32 bits doesn't hold are not cut off.
func TestFSLengthBeyondInt(t *testing.T) {
	const size = int64(math.MaxUint32) + 10
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal("creating the file:", err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("end"), size-3); err != nil { // the rest is a hole
		t.Skip("the file system has no files of this size:", err)
	}
	ts := harness.Start(t, nil, (&gale.FS{Root: dir, AcceptByteRange: true}).NewRequestHandler())
	c := ts.Dial()
	c.Send("HEAD /big HTTP/1.1\r\nHost: h\r\n\r\n")
	// With 32 bits the length of a whole file isn't declared: it is sent chunked.
	if n := c.Answer("HEAD").ContentLength; n != size && (n != -1 || math.MaxInt > math.MaxInt32) {
		t.Errorf("the length is %d, want %d", n, size)
	}
	c.Send("GET /big HTTP/1.1\r\nHost: h\r\nRange: bytes=-5\r\n\r\n")
	a := c.Answer("GET")
	if want := fmt.Sprintf("bytes %d-%d/%d", size-5, size-1, size); a.StatusCode != 206 || a.Text != "\x00\x00end" || a.Header.Get("Content-Range") != want {
		t.Errorf("got %d %q with Content-Range %q, want the last bytes with %q", a.StatusCode, a.Text, a.Header.Get("Content-Range"), want)
	}
	var resp gale.Response
	if err := resp.SendFile(f.Name()); err != nil {
		t.Fatal("SendFile:", err)
	}
	defer resp.CloseBodyStream()
	if n := resp.Header.ContentLength(); int64(n) != size && n != -1 {
		t.Errorf("the length of SendFile is %d, want %d", n, size)
	}
	b := make([]byte, 3)
	if _, err := io.ReadFull(resp.BodyStream(), b); err != nil || !bytes.Equal(b, make([]byte, 3)) {
		t.Errorf("SendFile begins with %q, %v", b, err)
	}
}
