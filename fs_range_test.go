package gale

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"
)

func TestFSRanges(t *testing.T) {
	root := fsTree(t)
	h := FSHandler(root, 0)
	big := strings.Repeat("0123456789", 10_000)
	for _, tt := range []struct {
		target, field string
		status        int
		contentRange  string
		body          string
	}{
		{"/hello.txt", "bytes=2-5", 206, "bytes 2-5/26", "cdef"},
		{"/hello.txt", "bytes=-3", 206, "bytes 23-25/26", "xyz"},
		{"/hello.txt", "bytes=24-", 206, "bytes 24-25/26", "yz"},
		{"/hello.txt", "bytes=-1000", 206, "bytes 0-25/26", alphabet},
		{"/hello.txt", "bytes=100-", 416, "bytes */26", "Range Not Satisfiable"},
		{"/hello.txt", "bytes=5-2", 416, "bytes */26", "Range Not Satisfiable"},
		{"/hello.txt", "items=0-5", 200, "", alphabet},
		{"/zero.txt", "bytes=0-", 416, "bytes */0", "Range Not Satisfiable"},
		{"/big.txt", "bytes=99990-", 206, "bytes 99990-99999/100000", big[99990:]},
		{"/big.txt", "bytes=0-59999,50000-99999", 206, "bytes 0-99999/100000", big},
	} {
		a := ask(t, h, "GET", tt.target, "Range: "+tt.field)
		if a.status != tt.status || a.get("Content-Range") != tt.contentRange || a.body != tt.body {
			t.Errorf("%s %s: %d, %s, %.40q", tt.target, tt.field, a.status, a.get("Content-Range"), a.body)
		}
	}
	if a := ask(t, h, "HEAD", "/hello.txt", "Range: bytes=0-1"); a.status != 206 || a.get("Content-Range") != "bytes 0-1/26" || a.body != "" {
		t.Errorf("HEAD: %d, Content-Range %s, %q: want what GET gets, without a body", a.status, a.get("Content-Range"), a.body)
	}
	if a := ask(t, h, "HEAD", "/hello.txt", "Range: bytes=0-1,9-10"); a.status != 200 {
		t.Errorf("HEAD with several ranges: %d", a.status)
	}
	if a := ask(t, (&FS{Root: root}).NewRequestHandler(), "GET", "/hello.txt", "Range: bytes=0-1"); a.status != 200 || a.get("Accept-Ranges") != "" {
		t.Errorf("ranges off: %d, %s", a.status, a.get("Accept-Ranges"))
	}
}

func TestFSMultipleRanges(t *testing.T) {
	root := fsTree(t)
	big := strings.Repeat("0123456789", 10_000)
	for target, data := range map[string]string{"/hello.txt": alphabet, "/big.txt": big} {
		a := ask(t, FSHandler(root, 0), "GET", target, "Range: bytes=4-5,-2,0-1")
		if a.status != 206 {
			t.Fatalf("%s: %d", target, a.status)
		}
		mediaType, params, err := mime.ParseMediaType(string(a.header.ContentType()))
		if err != nil || mediaType != "multipart/byteranges" {
			t.Fatalf("%s: %s", target, a.header.ContentType())
		}
		r := multipart.NewReader(strings.NewReader(a.body), params["boundary"])
		for _, want := range []struct{ cr, body string }{
			{fmt.Sprintf("bytes 4-5/%d", len(data)), data[4:6]},
			{fmt.Sprintf("bytes %d-%d/%d", len(data)-2, len(data)-1, len(data)), data[len(data)-2:]},
			{fmt.Sprintf("bytes 0-1/%d", len(data)), data[:2]},
		} {
			p, err := r.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(p)
			if err != nil || string(body) != want.body || p.Header.Get("Content-Range") != want.cr || p.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("part %q, %v, %v", body, p.Header, err)
			}
		}
		if _, err := r.NextPart(); err != io.EOF {
			t.Errorf("after the last part: %v", err)
		}
	}
	many := "Range: bytes=0-0" + strings.Repeat(",2-2", 100)
	if a := ask(t, FSHandler(root, 0), "GET", "/big.txt", many); a.status != 200 {
		t.Errorf("a hundred ranges: %d", a.status)
	}
}

func TestFSRangeOutputIsBounded(t *testing.T) {
	h := FSHandler(fsTree(t), 0)
	for _, field := range []string{
		"bytes=0-" + strings.Repeat(",0-", 30), "bytes=" + strings.Repeat("0-99999,", 30), "bytes=0-49999,50001-99999",
		"bytes=-100000" + strings.Repeat(",1-", 20),
	} {
		if a := ask(t, h, "GET", "/big.txt", "Range: "+field); len(a.body) > 110_000 {
			t.Errorf("%.30s: %d bytes of a file of 100000", field, len(a.body))
		}
	}
}
