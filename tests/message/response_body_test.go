package message

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A message that broke off must not look complete.
func TestResponseWriteBrokenStreamHasNoEnd(t *testing.T) {
	var resp gale.Response
	resp.SetBodyStream(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(errors.New("boom"))), -1)
	s := func() string {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		_ = resp.Write(w)
		_ = w.Flush()
		return b.String()
	}()
	if !strings.HasSuffix(s, "\r\n\r\n3\r\nabc\r\n") {
		t.Errorf("%q", s)
	}
}

// What was read from a stream is sent before the stream is read again.
func TestResponseWriteStreamsAtOnce(t *testing.T) {
	for _, immediate := range []bool{false, true} {
		var b bytes.Buffer
		var seen []string
		steps := []string{"one", "two"}
		var resp gale.Response
		resp.ImmediateHeaderFlush = immediate
		resp.SetBodyStream(peers.ReaderFunc(func(p []byte) (int, error) {
			seen = append(seen, b.String())
			if len(steps) == 0 {
				return 0, io.EOF
			}
			n := copy(p, steps[0])
			steps = steps[1:]
			return n, nil
		}), -1)
		if err := resp.Write(bufio.NewWriter(&b)); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(seen[0], "\r\n\r\n") != immediate {
			t.Errorf("before the first byte: %q", seen[0])
		}
		if !strings.HasSuffix(seen[1], "3\r\none\r\n") || !strings.HasSuffix(seen[2], "3\r\ntwo\r\n") {
			t.Errorf("%q", seen)
		}
	}
}

func TestResponseReadToTheEndSaysClose(t *testing.T) {
	var resp gale.Response
	if err := resp.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n\r\nabc"))); err != nil {
		t.Fatal(err)
	}
	if resp.Header.ContentLength() != 3 || !resp.ConnectionClose() {
		t.Errorf("length %d, close %v", resp.Header.ContentLength(), resp.ConnectionClose())
	}
}

func TestResponseReadStream(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		in, body string
		err      error
	}{
		{ok + "Content-Length: 3\r\n\r\nabcnext", "abc", nil},
		{ok + "Content-Length: 0\r\n\r\nnext", "", nil},
		{ok + "\r\nabc", "abc", nil},
		{ok + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", "abc", nil},
		{ok + "Content-Length: 9\r\n\r\nabc", "abc", io.ErrUnexpectedEOF},
		{ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", "abc", io.ErrUnexpectedEOF},
	} {
		var resp gale.Response
		resp.StreamBody = true
		if err := resp.ReadLimitBody(bufio.NewReader(strings.NewReader(c.in)), 1); err != nil || !resp.IsBodyStream() {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		b, err := io.ReadAll(resp.BodyStream())
		if string(b) != c.body || err != c.err {
			t.Errorf("%q: %q %v", c.in, b, err)
		}
		if strings.Contains(c.in, "X-T") && string(resp.Header.Peek("X-T")) != "1" {
			t.Errorf("%q: no trailer field", c.in)
		}
		if err := resp.CloseBodyStream(); err != nil || resp.IsBodyStream() {
			t.Error(err)
		}
	}
}

func TestResponseBodyWriteTo(t *testing.T) {
	var resp gale.Response
	var b bytes.Buffer
	resp.SetBodyString("abc")
	if err := resp.BodyWriteTo(&b); err != nil || b.String() != "abc" {
		t.Error(b.String(), err)
	}
	b.Reset()
	rec := &closeRecorder{Reader: io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrNoProgress))}
	resp.SetBodyStream(rec, -1)
	if err := resp.BodyWriteTo(&b); err != io.ErrNoProgress || b.String() != "abc" || rec.closed != 1 || resp.IsBodyStream() {
		t.Error(b.String(), err)
	}
	resp.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("written") })
	b.Reset()
	if err := resp.BodyWriteTo(&b); err != nil || b.String() != "written" {
		t.Error(b.String(), err)
	}
}

func TestResponseWriteToCounts(t *testing.T) {
	var resp gale.Response
	resp.SetBodyString(strings.Repeat("x", 10_000))
	var b bytes.Buffer
	n, err := resp.WriteTo(&b)
	if err != nil || n != int64(b.Len()) || n < 10_000 {
		t.Error(n, err)
	}
	w := &shortWriter{n: 5000, err: io.ErrClosedPipe}
	if n, err := resp.WriteTo(w); n != 5000 || err != io.ErrClosedPipe {
		t.Error(n, err)
	}
}

func TestResponseCopyTo(t *testing.T) {
	var src, dst gale.Response
	src.SetStatusCode(404)
	src.SetBodyString("abc")
	src.SkipBody, src.StreamBody, src.ImmediateHeaderFlush, src.KeepBodyBuffer = true, true, true, true
	src.CopyTo(&dst)
	if dst.StatusCode() != 404 || string(dst.Body()) != "abc" || !dst.SkipBody || !dst.StreamBody || !dst.ImmediateHeaderFlush || dst.KeepBodyBuffer {
		t.Errorf("%+v", dst.String())
	}
	src.SetBodyString("xyz")
	if string(dst.Body()) != "abc" {
		t.Error("the copy shares its body")
	}
	dst.Reset()
	if dst.StatusCode() != 200 || len(dst.Body()) != 0 || dst.SkipBody || dst.StreamBody || dst.ImmediateHeaderFlush {
		t.Error("Reset left something")
	}
}

func TestResponseParseNetConn(t *testing.T) {
	c, s := net.Pipe()
	defer c.Close()
	defer s.Close()
	var resp gale.Response
	if resp.RemoteAddr() != nil || resp.LocalAddr() != nil {
		t.Error("addresses of nothing")
	}
	resp.ParseNetConn(c)
	if resp.RemoteAddr() != c.RemoteAddr() || resp.LocalAddr() != c.LocalAddr() {
		t.Error(resp.RemoteAddr(), resp.LocalAddr())
	}
}

func TestResponseSendFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	resp := gale.AcquireResponse()
	defer gale.ReleaseResponse(resp)
	if err := resp.SendFile(path); err != nil || !resp.IsBodyStream() || resp.Header.ContentLength() != 8 {
		t.Fatal(err)
	}
	if s := resp.String(); !strings.HasSuffix(s, "\r\n\r\ncontents") || !strings.Contains(s, "\r\nLast-Modified: ") {
		t.Errorf("%q", s)
	}
	if err := resp.SendFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestResponseWriteGzip(t *testing.T) {
	long := strings.Repeat("0123456789", 50)
	for _, c := range []struct {
		name    string
		set     func(*gale.Response)
		encoded bool
	}{
		{"long", func(r *gale.Response) { r.SetBodyString(long) }, true},
		{"short", func(r *gale.Response) { r.SetBodyString(long[:199]) }, false},
		{"image", func(r *gale.Response) { r.Header.SetContentType("image/png"); r.SetBodyString(long) }, false},
		{"encoded", func(r *gale.Response) { r.Header.SetContentEncoding("br"); r.SetBodyString(long) }, false},
		{"stream", func(r *gale.Response) { r.SetBodyStream(strings.NewReader(long), len(long)) }, true},
		{"204", func(r *gale.Response) { r.SetStatusCode(204); r.SetBodyString(long) }, false},
	} {
		for coding, write := range map[string]func(*gale.Response, *bufio.Writer) error{"gzip": (*gale.Response).WriteGzip, "deflate": (*gale.Response).WriteDeflate} {
			var resp, got gale.Response
			c.set(&resp)
			var b bytes.Buffer
			w := bufio.NewWriter(&b)
			if err := write(&resp, w); err != nil {
				t.Fatal(err)
			}
			_ = w.Flush()
			if err := got.Read(bufio.NewReader(&b)); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if encoded := string(got.Header.ContentEncoding()) == coding; encoded != c.encoded {
				t.Errorf("%s, %s: encoding %q", c.name, coding, got.Header.ContentEncoding())
			} else if encoded {
				if body, err := got.BodyUncompressed(); err != nil || string(body) != long {
					t.Errorf("%s, %s: %q %v", c.name, coding, body, err)
				}
			}
		}
	}
}

func TestBodyUncompressed(t *testing.T) {
	text := strings.Repeat("0123456789", 50)
	plain := func(b []byte) []byte { return b }
	for _, c := range []struct {
		coding string
		enc    func([]byte) []byte
		one    func(*gale.Request, int) ([]byte, error)
	}{
		{"", plain, nil},
		{"identity", plain, nil},
		{"gzip", func(b []byte) []byte { return gale.AppendGzipBytes(nil, b) }, (*gale.Request).BodyGunzipWithLimit},
		{"GZIP", func(b []byte) []byte { return gale.AppendGzipBytes(nil, b) }, (*gale.Request).BodyGunzipWithLimit},
		{"deflate", func(b []byte) []byte { return gale.AppendDeflateBytes(nil, b) }, (*gale.Request).BodyInflateWithLimit},
		{"br", func(b []byte) []byte { return gale.AppendBrotliBytes(nil, b) }, (*gale.Request).BodyUnbrotliWithLimit},
		{"zstd", func(b []byte) []byte { return gale.AppendZstdBytes(nil, b) }, (*gale.Request).BodyUnzstdWithLimit},
	} {
		var req gale.Request
		req.Header.SetContentEncoding(c.coding)
		req.SetBody(c.enc([]byte(text)))
		if b, err := req.BodyUncompressed(); err != nil || string(b) != text {
			t.Errorf("%q: %v", c.coding, err)
		}
		for _, limit := range []int{-1, 0, 1, len(text) - 1, len(text)} {
			tooLarge := limit > 0 && limit < len(text)
			if b, err := req.BodyUncompressedWithLimit(limit); tooLarge && err != gale.ErrBodyTooLarge || !tooLarge && string(b) != text {
				t.Errorf("%q, limit %d: %v", c.coding, limit, err)
			}
			if c.one == nil {
				continue
			}
			if b, err := c.one(&req, limit); tooLarge && err != gale.ErrBodyTooLarge || !tooLarge && string(b) != text {
				t.Errorf("%q, limit %d: %v", c.coding, limit, err)
			}
		}
		if c.one != nil {
			req.SetBodyString("garbage")
			if b, err := req.BodyUncompressed(); err == nil || b != nil {
				t.Errorf("%q: garbage gives %q", c.coding, b)
			}
		}
	}
	for _, coding := range []string{"foo", "gzip, br", "gzip,gzip"} {
		var resp gale.Response
		resp.Header.SetContentEncoding(coding)
		resp.SetBodyString("x")
		if _, err := resp.BodyUncompressed(); err != gale.ErrContentEncodingUnsupported {
			t.Errorf("%q: %v", coding, err)
		}
	}
}
