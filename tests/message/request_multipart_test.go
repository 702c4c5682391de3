package message

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestMultipartForm(t *testing.T) {
	req := harness.FormRequest("preamble\r\n" + peers.TestForm + "epilogue")
	f, err := req.MultipartForm()
	if err != nil {
		t.Fatal(err)
	}
	if f.Value["k"][0] != "v1" || f.File["f"][0].Filename != "a.txt" || f.File["f"][0].Size != 5 {
		t.Fatalf("%+v", f)
	}
	if again, err := req.MultipartForm(); again != f || err != nil {
		t.Fatal("the form is parsed again")
	}
	if got := string(req.Body()); got != "preamble\r\n"+peers.TestForm+"epilogue" {
		t.Fatalf("the body changed: %q", got)
	}
	path := filepath.Join(t.TempDir(), "saved")
	if err := gale.SaveMultipartFile(f.File["f"][0], path); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "file!" {
		t.Fatalf("%q %v", b, err)
	}
	if err := gale.SaveMultipartFile(f.File["f"][0], filepath.Join(t.TempDir(), "no", "dir")); err == nil {
		t.Fatal("saved where there is no directory")
	}
}

func TestMultipartFormErrors(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		is                      error
		text                    string
	}{
		{"other type", "text/plain", peers.TestForm, gale.ErrNoMultipartForm, ""},
		{"no boundary", "multipart/form-data", peers.TestForm, gale.ErrNoMultipartForm, ""},
		{"no body", "multipart/form-data; boundary=foo", "", nil, "gale: form size must be greater than 0: given 0"},
		{"no form", "multipart/form-data; boundary=foo", "garbage", io.EOF, "gale: cannot read multipart/form-data body: multipart: NextPart: EOF"},
		{"no end", "multipart/form-data; boundary=foo", peers.TestForm[:len(peers.TestForm)-10], io.ErrUnexpectedEOF, ""},
	} {
		var req gale.Request
		req.Header.SetContentType(c.contentType)
		req.SetBodyString(c.body)
		f, err := req.MultipartForm()
		if f != nil || err == nil || c.is != nil && !errors.Is(err, c.is) || c.text != "" && err.Error() != c.text {
			t.Errorf("%s: %v, %v", c.name, f, err)
		}
	}
}

func TestMultipartFormLimit(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, limit := range []int{1, 10, len(peers.TestForm) - 1, len(peers.TestForm)} {
			req := harness.FormRequest(peers.TestForm)
			if stream {
				req.SetBodyStream(strings.NewReader(peers.TestForm), -1)
			}
			_, err := req.MultipartFormWithLimit(limit)
			if tooLarge := errors.Is(err, gale.ErrBodyTooLarge); tooLarge != (limit < len(peers.TestForm)) || !tooLarge && err != nil {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	}
}

func TestMultipartFormDecodes(t *testing.T) {
	for _, c := range []compress.Coding{compress.Gzip, compress.Deflate, compress.Brotli, compress.Zstd} {
		req := harness.FormRequest("")
		req.Header.SetContentEncoding(c.String())
		req.SetBody(compress.Append(nil, []byte(peers.TestForm), c, 1))
		f, err := req.MultipartForm()
		if err != nil || f.Value["k"][0] != "v1" {
			t.Errorf("%v: %v", c, err)
		}
	}
	req := harness.FormRequest(peers.TestForm)
	req.Header.SetContentEncoding("foo")
	if _, err := req.MultipartForm(); err == nil || err.Error() != `gale: unsupported content-encoding: "foo"` {
		t.Error(err)
	}
	bomb := "--foo\r\nContent-Disposition: form-data; name=\"f\"; filename=\"z\"\r\n\r\n" + strings.Repeat("\x00", 3<<20) + "\r\n--foo--\r\n"
	req = harness.FormRequest("")
	req.Header.SetContentEncoding("gzip")
	req.SetBody(gale.AppendGzipBytes(nil, []byte(bomb)))
	if _, err := req.MultipartFormWithLimit(1 << 20); !errors.Is(err, gale.ErrBodyTooLarge) {
		t.Error(err)
	}
}

func TestMultipartFormTempFiles(t *testing.T) {
	peers.WithoutEngine(t)
	peers.InTempDir(t)
	file := "--foo\r\nContent-Disposition: form-data; name=\"f\"; filename=\"big\"\r\n\r\n" + strings.Repeat("0123456789", 1<<20) + "\r\n"
	for _, end := range []string{"--foo--\r\n", "", "--foo\r\nbroken", "--foo\r\n" + strings.Repeat("X: y\r\n", 10_001)} {
		req := harness.FormRequest(file + end)
		f, err := req.MultipartForm()
		if (err == nil) != (end == "--foo--\r\n") {
			t.Fatalf("%.20q: %v", end, err)
		}
		if err == nil {
			file, err := f.File["f"][0].Open()
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := file.(*os.File); !ok {
				t.Fatal("10 MiB are held in memory")
			}
			file.Close()
		}
		req.RemoveMultipartFormFiles()
		req.RemoveMultipartFormFiles()
	}
	for _, drop := range []func(*gale.Request){(*gale.Request).Reset, (*gale.Request).ResetBody, func(r *gale.Request) { r.SetBodyString("x") }, gale.ReleaseRequest} {
		req := harness.FormRequest(file + "--foo--\r\n")
		if _, err := req.MultipartForm(); err != nil {
			t.Fatal(err)
		}
		drop(req)
	}
}

func TestMultipartReader(t *testing.T) {
	check := func(name string, req *gale.Request) {
		t.Helper()
		mr, err := req.MultipartReader()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for {
			p, err := mr.NextPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			b, err := io.ReadAll(p)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, p.FormName()+"="+string(b))
		}
		if strings.Join(got, ",") != "k=v1,f=file!" {
			t.Errorf("%s: %v", name, got)
		}
	}
	check("buffered", harness.FormRequest(peers.TestForm))
	req := harness.FormRequest("")
	req.SetBodyStream(strings.NewReader(peers.TestForm), -1)
	check("stream", req)
	req = harness.FormRequest(peers.TestForm)
	if _, err := req.MultipartForm(); err != nil {
		t.Fatal(err)
	}
	check("parsed", req)
	req.SetBodyStream(strings.NewReader(peers.TestForm), -1)
	if _, err := req.MultipartForm(); err != nil {
		t.Fatal(err)
	}
	check("parsed from a stream", req)
	req = harness.FormRequest("")
	req.Header.SetContentEncoding("zstd")
	req.SetBody(gale.AppendZstdBytes(nil, []byte(peers.TestForm)))
	check("encoded", req)
	if _, err := new(gale.Request).MultipartReader(); err != gale.ErrNoMultipartForm {
		t.Error(err)
	}
}

// A part can be read before the next one has arrived.
func TestMultipartReaderStreams(t *testing.T) {
	pr, pw := io.Pipe()
	req := harness.FormRequest("")
	req.SetBodyStream(pr, -1)
	mr, err := req.MultipartReader()
	if err != nil {
		t.Fatal(err)
	}
	half := strings.Index(peers.TestForm[2:], "--foo") + 2 + len("--foo\r\n")
	go func() { _, _ = io.WriteString(pw, peers.TestForm[:half]) }()
	p, err := mr.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(p); err != nil || string(b) != "v1" {
		t.Fatalf("%q %v", b, err)
	}
	go func() { _, _ = io.WriteString(pw, peers.TestForm[half:]); pw.Close() }()
	if p, err = mr.NextPart(); err != nil || p.FileName() != "a.txt" {
		t.Fatal(err)
	}
}

func TestWriteMultipartForm(t *testing.T) {
	f := &multipart.Form{Value: map[string][]string{"b": {"1", "2"}, "a": {"x"}, "q\"\r\n": {"z"}}}
	var b bytes.Buffer
	if err := gale.WriteMultipartForm(&b, f, "foo"); err != nil {
		t.Fatal(err)
	}
	want := "--foo\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n" +
		"--foo\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n1\r\n" +
		"--foo\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n2\r\n" +
		"--foo\r\nContent-Disposition: form-data; name=\"q\\\"%0D%0A\"\r\n\r\nz\r\n--foo--\r\n"
	if b.String() != want {
		t.Errorf("%q", b.String())
	}
	if err := gale.WriteMultipartForm(&b, f, ""); err == nil || err.Error() != "gale: form boundary cannot be empty" {
		t.Error(err)
	}
	if err := gale.WriteMultipartForm(&b, f, "a\r\nb"); err == nil {
		t.Error("a boundary with a line break was written")
	}
	req := harness.FormRequest(peers.TestForm)
	f, err := req.MultipartForm()
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := gale.WriteMultipartForm(&b, f, "foo"); err != nil || b.String() != peers.TestForm {
		t.Errorf("%q %v", b.String(), err)
	}
}

func TestMultipartFormBounds(t *testing.T) {
	peers.WithoutEngine(t)
	peers.InTempDir(t)
	parts := func(n, fields int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "--foo\r\nContent-Disposition: form-data; name=\"k%d\"; filename=\"f\"\r\n", i)
			for j := range fields {
				fmt.Fprintf(&b, "X-%d: y\r\n", j)
			}
			b.WriteString("\r\nv\r\n")
		}
		return b.String() + "--foo--\r\n"
	}
	for _, c := range []struct {
		name string
		body string
		ok   bool
	}{
		{"1000 parts", parts(1000, 0), true},
		{"1001 parts", parts(1001, 0), false},
		{"10,000 header fields", parts(100, 99), true},
		{"more than 10,000 header fields", parts(101, 100), false},
		{"a field beyond the memory", "--foo\r\nContent-Disposition: form-data; name=\"k\"\r\n\r\n" + strings.Repeat("x", int(door.MaxFormMemory)) + "\r\n--foo--\r\n", false},
	} {
		req := harness.FormRequest(c.body)
		if _, err := req.MultipartForm(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		req.Reset()
	}
}
