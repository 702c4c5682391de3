package differential

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// A response as a client read it: its head, its body, and what was left on the connection
// for the next one.
type response struct {
	ok         bool
	status     int
	body, left string
}

func responseByGale(in string) (r response) {
	br := bufio.NewReader(strings.NewReader(in))
	var resp gale.Response
	if resp.Read(br) != nil {
		return r
	}
	left, _ := io.ReadAll(br)
	return response{true, resp.StatusCode(), string(resp.Body()), string(left)}
}

func responseByFasthttp(in string) (r response) {
	br := bufio.NewReader(strings.NewReader(in))
	var resp fasthttp.Response
	if resp.Read(br) != nil {
		return r
	}
	left, _ := io.ReadAll(br)
	return response{true, resp.StatusCode(), string(resp.Body()), string(left)}
}

func responseByNetHTTP(in string) (r response) {
	br := bufio.NewReader(strings.NewReader(in))
	for {
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			return r
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return r
		}
		if resp.StatusCode < 200 && resp.StatusCode >= 100 && resp.StatusCode != 101 {
			continue // the others skip these
		}
		left, _ := io.ReadAll(br)
		return response{true, resp.StatusCode, string(body), string(left)}
	}
}

var (
	responseDifferences = differences{
		{row: "lines that end in a bare LF", when: stricter(bareLF)},
		{row: "folded field lines (obs-fold)", when: stricter(folded)},
		{row: "`Transfer-Encoding` and `Content-Length` together", when: stricter(twoLengths)},
		{row: "unsupported transfer codings", when: stricter(responseCoding)},
		{row: "`Transfer-Encoding` in responses of HTTP/1.0", when: stricter(oldCoding)},
		{row: "malformed status lines", when: badStatusLine},
		{row: "spaces in field names", when: stricter(spacedName)},
		{row: "lines of chunks and trailers with spaces or broken extensions", when: stricter(badExtension)},
		{row: "chunk sizes with more than 16 digits, spaces before `;`", when: laxer(oddChunkLine)},
	}
	netResponseDifferences = differences{
		{when: stricter(bareLF)},
		{when: stricter(folded)},
		{when: stricter(twoLengths)},
		{when: stricter(oldCoding)},
		{when: badStatusLine},
		{when: stricter(spacedName)},
		{when: stricter(forbiddenTrailer)},
		{when: stricter(badExtension)},
		{when: laxer(oddChunkLine)},
	}
)

var (
	responseCoding = regexp.MustCompile(`(?i)\ntransfer-encoding[ \t]*:[ \t]*(chunked[ \t]*[^\r \t]|c?[^ch\r \t]|\r)`)
	statusLine     = regexp.MustCompile(`^(HTTP/1\.[01] 1[0-9][0-9] ?[\t\x20-\x7e\x80-\xff]*\r\n([^\r\n]+\r\n)*\r\n)*HTTP/1\.[01] [2-9][0-9]{2}( [\t\x20-\x7e\x80-\xff]*)?\r\n`)
)

// badStatusLine reports whether a status line is malformed, or is one of interim
// responses that no final one follows.
func badStatusLine(o observation) bool {
	return o.what == "stricter" && !statusLine.MatchString(o.in)
}

// checkResponse compares how the three libraries read in. If both Gale and net/http
// accept it, they must read it in the same way.
func checkResponse(t *testing.T, in string) {
	t.Helper()
	ours, theirs, peers := responseByGale(in), responseByNetHTTP(in), responseByFasthttp(in)
	if ours.ok && theirs.ok && ours != theirs {
		t.Errorf("%q:\n ours     %+v\n net/http %+v", in, ours, theirs)
	}
	if ours.ok && peers.ok && ours != peers && !responseDifferences.explain(observation{"differs", in, "", ""}) {
		t.Errorf("%q:\n ours     %+v\n fasthttp %+v", in, ours, peers)
	}
	what := map[bool]string{false: "stricter", true: "laxer"}[ours.ok]
	if ours.ok != theirs.ok && !netResponseDifferences.explain(observation{what, in, "", ""}) {
		t.Errorf("%q: %s than net/http:\n ours   %+v\n theirs %+v", in, what, ours, theirs)
	}
	if ours.ok != peers.ok && !responseDifferences.explain(observation{what, in, "", ""}) {
		t.Errorf("%q: %s than fasthttp:\n ours   %+v\n theirs %+v", in, what, ours, peers)
	}
}

// responseInputs have the same framings as the requests, and those that only responses
// have.
var responseInputs = func() []string {
	var inputs []string
	for _, line := range []string{
		"HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.1  200 OK", "HTTP/1.1 200  OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 abc OK", "HTTP/1.1 099 OK", "HTTP/1.1 600 OK", "HTTP/1.1 999 OK", "HTTP/1.1 -20 OK", "HTTP/1.1 +20 OK", "HTTP/1.0 200 OK", "HTTP/1.2 200 OK", "HTTP/2.0 200 OK", "HTTP/2 200", "HTTP/0.9 200 OK", "http/1.1 200 OK", "HTTP/1.1\t200\tOK", "HTTP/1.1 200 O\tK", "HTTP/1.1 200 O\x00K", "HTTP/1.1 200 \xff", "HTTP/1.1 200 O\rK", " HTTP/1.1 200 OK", "HTTP 200 OK", "ICY 200 OK", "HTTP/1.1 200 OK ", "", "HTTP/1.1", "HTTP/11 200 OK", "HTTP/1.1 200OK",
	} {
		inputs = append(inputs, line+"\r\nContent-Length: 3\r\n\r\nabcleft", line+"\r\n\r\nrest")
	}
	for _, status := range []string{"100", "101", "102", "103", "199", "204", "205", "304", "200"} {
		inputs = append(inputs, "HTTP/1.1 "+status+" X\r\n\r\n", "HTTP/1.1 "+status+" X\r\nContent-Length: 3\r\n\r\nabcleft", "HTTP/1.1 "+status+" X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nleft", "HTTP/1.1 "+status+" X\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcleft")
	}
	// The fields and bodies of the requests.
	for _, in := range wireInputs {
		if rest, ok := strings.CutPrefix(in, "POST /p HTTP/1.1\r\nHost: h\r\n"); ok {
			inputs = append(inputs, "HTTP/1.1 200 OK\r\n"+rest+"left")
		}
		if rest, ok := strings.CutPrefix(in, "POST /p HTTP/1.0\r\nHost: h\r\n"); ok {
			inputs = append(inputs, "HTTP/1.0 200 OK\r\n"+rest+"left")
		}
	}
	return inputs
}()

func TestResponses(t *testing.T) {
	for _, in := range responseInputs {
		checkResponse(t, in)
	}
	for _, b := range scripts(1500, 24) {
		checkResponse(t, mangle(b, responseInputs))
	}
	responseDifferences.checkDocumented(t)
	netResponseDifferences.checkDocumented(t)
}

func FuzzResponses(f *testing.F) {
	for _, in := range responseInputs {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) { checkResponse(t, in[:min(len(in), 4000)]) })
}
