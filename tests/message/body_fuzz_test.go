package message

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale"
)

// bodyWays are the ways to give a message its body.
var bodyWays = []func(set func(io.Reader, int), buffered func([]byte), writer func(gale.StreamWriter), body []byte){
	func(_ func(io.Reader, int), buffered func([]byte), _ func(gale.StreamWriter), body []byte) {
		buffered(body)
	},
	func(set func(io.Reader, int), _ func([]byte), _ func(gale.StreamWriter), body []byte) {
		set(bytes.NewReader(body), len(body))
	},
	func(set func(io.Reader, int), _ func([]byte), _ func(gale.StreamWriter), body []byte) {
		set(bytes.NewReader(body), -1)
	},
	func(set func(io.Reader, int), _ func([]byte), _ func(gale.StreamWriter), body []byte) {
		set(iotest.HalfReader(bytes.NewReader(body)), -1)
	},
	func(set func(io.Reader, int), _ func([]byte), _ func(gale.StreamWriter), body []byte) {
		set(iotest.OneByteReader(bytes.NewReader(body)), len(body))
	},
	func(_ func(io.Reader, int), _ func([]byte), writer func(gale.StreamWriter), body []byte) {
		writer(func(w *bufio.Writer) { _, _ = w.Write(body) })
	},
	func(set func(io.Reader, int), _ func([]byte), _ func(gale.StreamWriter), body []byte) {
		set(gale.NewStreamReader(func(w *bufio.Writer) {
			for i := range body {
				_ = w.WriteByte(body[i])
				if i%5 == 0 {
					_ = w.Flush()
				}
			}
		}), -1)
	},
}

// A message that was written is read back unchanged, and the reader takes nothing of what
// follows it.
func FuzzMessageRoundTrip(f *testing.F) {
	for i := range bodyWays {
		f.Add(i, "X-Name", "value", []byte("some body"), uint8(16), uint8(32))
		f.Add(i, "x", "", []byte{}, uint8(200), uint8(0))
	}
	f.Fuzz(func(t *testing.T, way int, name, value string, body []byte, wsize, rsize uint8) {
		if way < 0 || len(body) > 10_000 || len(name)+len(value) > 2000 {
			return
		}
		give := bodyWays[way%len(bodyWays)]

		var req gale.Request
		req.Header.SetMethod(gale.MethodPost)
		req.SetRequestURI("http://host/path")
		req.Header.Set("X-"+name, value)
		give(req.SetBodyStream, req.SetBody, req.SetBodyStreamWriter, body)
		wire := writeAll(t, req.Write, int(wsize))
		var gotReq gale.Request
		br := bufio.NewReaderSize(strings.NewReader(wire+"next"), max(4096, int(rsize)))
		if err := gotReq.Read(br); err != nil {
			t.Fatalf("%q: %v", wire, err)
		}
		sameBody(t, wire, gotReq.Body(), body, br)
		want := strings.Trim(string(req.Header.Peek("X-"+name)), " \t") // whitespace there is no part of a value, RFC 9110 section 5.5
		if got := string(gotReq.Header.Peek("X-" + name)); got != want {
			t.Fatalf("%q: %q isn't %q", wire, got, want)
		}

		var resp gale.Response
		resp.Header.Set("X-"+name, value)
		give(resp.SetBodyStream, resp.SetBody, resp.SetBodyStreamWriter, body)
		wire = writeAll(t, resp.Write, int(wsize))
		var gotResp gale.Response
		gotResp.StreamBody = rsize%2 == 0
		br = bufio.NewReader(strings.NewReader(wire + "next"))
		if err := gotResp.Read(br); err != nil {
			t.Fatalf("%q: %v", wire, err)
		}
		sameBody(t, wire, gotResp.Body(), body, br)
	})
}

func writeAll(t *testing.T, write func(*bufio.Writer) error, size int) string {
	t.Helper()
	var b bytes.Buffer
	w := bufio.NewWriterSize(&b, size)
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	_ = w.Flush()
	return b.String()
}

func sameBody(t *testing.T, wire string, got, want []byte, br *bufio.Reader) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("%q: body %q, want %q", wire, got, want)
	}
	if rest, _ := io.ReadAll(br); string(rest) != "next" {
		t.Fatalf("%q: left %q", wire, rest)
	}
}
