//go:build !race

package message

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
)

func pinAllocs(t *testing.T, name string, want float64, f func()) {
	t.Helper()
	f()
	if got := alloctest.PerRun(200, f); got > want {
		t.Errorf("%s: %v allocations, want %v", name, got, want)
	}
}

func TestBodyAllocs(t *testing.T) {
	small := []byte(strings.Repeat("x", 1000))
	large := []byte(strings.Repeat("x", 100_000))
	var req gale.Request
	var resp gale.Response
	pinAllocs(t, "SetBody, small", 0, func() { resp.SetBody(small); resp.Reset() })
	pinAllocs(t, "SetBody, large", 0, func() { resp.SetBody(large); resp.Reset() })
	pinAllocs(t, "AppendBody", 0, func() {
		for range 50 {
			resp.AppendBody(small)
		}
		resp.Reset()
	})
	pinAllocs(t, "BodyWriter", 0, func() {
		w := resp.BodyWriter()
		_, _ = w.Write(small)
		_, _ = io.WriteString(w, "abc")
		resp.Reset()
	})
	pinAllocs(t, "SetBodyRaw", 0, func() { resp.SetBodyRaw(large); resp.Reset() })
	pinAllocs(t, "Request.Reset", 0, func() { req.SetBodyString("abc"); req.Reset() })
	key := []byte("key")
	var value any = &small
	pinAllocs(t, "user values", 0, func() {
		req.SetUserValue("key", value)
		if req.UserValueBytes(key) != value {
			t.Fatal("lost")
		}
		req.Reset()
	})
	pinAllocs(t, "AcquireResponse", 0, func() {
		r := gale.AcquireResponse()
		r.SetBody(small)
		gale.ReleaseResponse(r)
	})
}

func TestMessageAllocs(t *testing.T) {
	var in bytes.Reader
	br := bufio.NewReader(nil)
	bw := bufio.NewWriter(io.Discard)
	fixed := []byte("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde")
	chunked := []byte("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n")
	var req gale.Request
	read := func(b []byte) func() {
		return func() {
			in.Reset(b)
			br.Reset(&in)
			if err := req.Read(br); err != nil {
				t.Fatal(err)
			}
		}
	}
	pinAllocs(t, "Request.Read", 0, read(fixed))
	pinAllocs(t, "Request.Read, chunked", 0, read(chunked))
	var resp gale.Response
	resp.SetBodyString("abcde")
	pinAllocs(t, "Response.Write", 0, func() {
		if err := resp.Write(bw); err != nil {
			t.Fatal(err)
		}
	})
	body := strings.Repeat("x", 50_000)
	stream := struct{ io.Reader }{strings.NewReader("")}
	pinAllocs(t, "Response.Write of a stream", 1, func() { // the chunkWriter
		stream.Reader.(*strings.Reader).Reset(body)
		resp.SetBodyStream(&stream, -1)
		if err := resp.Write(bw); err != nil {
			t.Fatal(err)
		}
	})
	pinAllocs(t, "Response.Write of a stream of known length", 0, func() {
		stream.Reader.(*strings.Reader).Reset(body)
		resp.SetBodyStream(&stream, len(body))
		if err := resp.Write(bw); err != nil {
			t.Fatal(err)
		}
	})
}
