package message

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/peers"
)

// verdict is how a message was read: its body, and where it ends.
type verdict struct {
	ok   bool
	body string
	rest string
}

func (v verdict) String() string {
	if !v.ok {
		return "refused"
	}
	return fmt.Sprintf("body %q, rest %q", v.body, v.rest)
}

func readRequestGale(in string) verdict {
	br := bufio.NewReader(strings.NewReader(in))
	var req gale.Request
	if err := req.Read(br); err != nil {
		return verdict{}
	}
	if req.MayContinue() {
		if err := req.ContinueReadBody(br, 0); err != nil {
			return verdict{}
		}
	}
	rest, _ := io.ReadAll(br)
	return verdict{true, string(req.Body()), string(rest)}
}

func readRequestStd(in string) verdict {
	br := bufio.NewReader(strings.NewReader(in))
	req, err := http.ReadRequest(br)
	if err != nil {
		return verdict{}
	}
	return readStdBody(br, req.Body)
}

func readStdBody(br *bufio.Reader, body io.Reader) verdict {
	b, err := io.ReadAll(body)
	if err != nil {
		return verdict{}
	}
	rest, _ := io.ReadAll(br)
	return verdict{true, string(b), string(rest)}
}

func readResponseGale(in, method string) verdict {
	br := bufio.NewReader(strings.NewReader(in))
	var resp gale.Response
	resp.SkipBody = method == gale.MethodHead
	if err := resp.Read(br); err != nil {
		return verdict{}
	}
	rest, _ := io.ReadAll(br)
	return verdict{true, string(resp.Body()), string(rest)}
}

func readResponseStd(in, method string) verdict {
	br := bufio.NewReader(strings.NewReader(in))
	req := &http.Request{Method: method}
	resp, err := http.ReadResponse(br, req)
	for err == nil && resp.StatusCode/100 == 1 && resp.StatusCode != 101 {
		resp, err = http.ReadResponse(br, req)
	}
	if err != nil {
		return verdict{}
	}
	return readStdBody(br, resp.Body)
}

// pieces are the parts of the random messages of the differential tests.
var pieces = struct{ fields, bodies []string }{
	fields: []string{
		"Content-Length: 5\r\n", "Content-Length: 0\r\n", "Content-Length: 5\r\n", "Content-Length: 05\r\n", "Content-Length: +5\r\n",
		"Content-Length: 5, 5\r\n", "Content-Length: -1\r\n", "Content-Length: 5 \r\n", "Content-Length: 99999999999999999999\r\n",
		"content-length: 3\r\n", "Content-Length:\r\n", "Content-Length : 5\r\n", "Content-Length: 0x5\r\n",
		"Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: Chunked\r\n", "Transfer-Encoding: gzip, chunked\r\n",
		"Transfer-Encoding: identity\r\n", "Transfer-Encoding: chunked, chunked\r\n", "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding:\tchunked\r\n",
		"Trailer: X-T\r\n", "Connection: close\r\n", "X-A: b\r\n", "Expect: 100-continue\r\n",
	},
	bodies: []string{
		"abcde", "abcdefgh", "abc", "", "5\r\nabcde\r\n0\r\n\r\n", "5\r\nabcde\r\n0\r\n\r\nGET /next HTTP/1.1\r\n\r\n", "5;x=y\r\nabcde\r\n0\r\n\r\n",
		"5\r\nabcde\r\n3\r\nfgh\r\n0\r\nX-T: 1\r\n\r\nrest", "5\r\nabcdef\r\n0\r\n\r\n", "5\nabcde\n0\n\n", "0x5\r\nabcde\r\n0\r\n\r\n", "+5\r\nabcde\r\n0\r\n\r\n",
		"0000000000000005\r\nabcde\r\n0\r\n\r\n", "5 \r\nabcde\r\n0\r\n\r\n", "5\r\nabcde\r\n0\r\nX-T: 1\r\n", "5\r\nabcde", "A\r\n0123456789\r\n0\r\n\r\n",
		"0\r\n\r\nrest", "0\r\nX-T : 1\r\n\r\n", "0\r\n X: 1\r\n\r\n", "-5\r\nabcde\r\n0\r\n\r\n", "5;\"a\r\nb\"\r\nabcde\r\n0\r\n\r\n",
	},
}

// compare reports an error if gale accepts what net/http refuses, or reads another body.
// Requests can be smuggled if one of them takes bytes for a body that the other one takes
// for the next message. gale may refuse more.
func compare(t *testing.T, in string, gale, std verdict) (agree bool) {
	t.Helper()
	switch {
	case !gale.ok:
		return !std.ok
	case !std.ok:
		t.Errorf("%q: gale: %v, net/http refuses", in, gale)
	case gale != std:
		t.Errorf("%q:\n    gale %v\nnet/http %v", in, gale, std)
	}
	return true
}

func TestRequestFramingAgainstNetHTTP(t *testing.T) {
	peers.WithoutEngine(t)
	rng := rand.New(rand.NewPCG(5, 6))
	lines := []string{"POST / HTTP/1.1\r\nHost: a\r\n", "GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.0\r\nHost: a\r\n", "HEAD / HTTP/1.1\r\nHost: a\r\n"}
	stricter := map[string]int{}
	for range race.Fewer(20_000) {
		in := randomMessage(rng, lines)
		gale, std := readRequestGale(in), readRequestStd(in)
		if !compare(t, in, gale, std) {
			stricter[in]++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("gale refuses %d messages that net/http reads", len(stricter))
}

func TestResponseFramingAgainstNetHTTP(t *testing.T) {
	peers.WithoutEngine(t)
	rng := rand.New(rand.NewPCG(7, 8))
	lines := []string{"HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 204 No Content\r\n", "HTTP/1.1 304 Not Modified\r\n", "HTTP/1.1 404 Not Found\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"}
	for range race.Fewer(20_000) {
		in := randomMessage(rng, lines)
		for _, method := range []string{"GET", "HEAD"} {
			compare(t, method+" "+in, readResponseGale(in, method), readResponseStd(in, method))
		}
		if t.Failed() {
			return
		}
	}
}

func randomMessage(rng *rand.Rand, lines []string) string {
	var b strings.Builder
	b.WriteString(lines[rng.IntN(len(lines))])
	for range rng.IntN(4) {
		b.WriteString(pieces.fields[rng.IntN(len(pieces.fields))])
	}
	b.WriteString("\r\n")
	body := pieces.bodies[rng.IntN(len(pieces.bodies))]
	if rng.IntN(4) == 0 && len(body) > 0 { // break it somewhere
		i := rng.IntN(len(body))
		body = body[:i] + string("\r\n0;:x \x00"[rng.IntN(8)]) + body[i+rng.IntN(2):]
	}
	b.WriteString(body)
	return b.String()
}

// Each of them reads what the other one writes.
func TestMessagesAgainstNetHTTP(t *testing.T) {
	body := strings.Repeat("0123456789", 2000)
	for i, give := range bodyWays {
		for _, n := range []int{0, 1, 5000, len(body)} {
			var req gale.Request
			req.Header.SetMethod(gale.MethodPost)
			req.SetRequestURI("http://a/")
			give(req.SetBodyStream, req.SetBody, req.SetBodyStreamWriter, []byte(body[:n]))
			if got := readRequestStd(writeAll(t, req.Write, 4096) + "next"); got != (verdict{true, body[:n], "next"}) {
				t.Errorf("way %d: net/http reads our request as %v", i, got)
			}
			var resp gale.Response
			give(resp.SetBodyStream, resp.SetBody, resp.SetBodyStreamWriter, []byte(body[:n]))
			if got := readResponseStd(writeAll(t, resp.Write, 4096)+"next", "GET"); got != (verdict{true, body[:n], "next"}) {
				t.Errorf("way %d: net/http reads our response as %v", i, got)
			}
		}
	}
	for _, r := range []io.Reader{strings.NewReader(body), struct{ io.Reader }{strings.NewReader(body)}} {
		req, err := http.NewRequest("POST", "http://a/", r)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := req.Write(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("next")
		if got := readRequestGale(b.String()); got != (verdict{true, body, "next"}) {
			t.Errorf("gale reads net/http's request as %v", got)
		}
	}
	for _, length := range []int64{int64(len(body)), -1} {
		var te []string
		if length < 0 {
			te = []string{"chunked"}
		}
		resp := &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, ContentLength: length, TransferEncoding: te, Body: io.NopCloser(strings.NewReader(body))}
		var b bytes.Buffer
		if err := resp.Write(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("next")
		if got := readResponseGale(b.String(), "GET"); got != (verdict{true, body, "next"}) {
			t.Errorf("gale reads net/http's response as %v", got)
		}
	}
}

func FuzzRequestFramingAgainstNetHTTP(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		f.Add(randomMessage(rng, []string{"POST / HTTP/1.1\r\nHost: a\r\n"}))
	}
	f.Fuzz(func(t *testing.T, in string) {
		gale := readRequestGale(in)
		if !gale.ok {
			return
		}
		if std := readRequestStd(in); std.ok && std != gale {
			t.Fatalf("%q:\n    gale %v\nnet/http %v", in, gale, std)
		}
	})
}
