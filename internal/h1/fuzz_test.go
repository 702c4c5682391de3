package h1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

func addRequests(f *testing.F) {
	for i, tt := range requestCases {
		f.Add([]byte(tt.in), uint16(i), uint16(3*i))
	}
}

// A head means the same however it arrives, whatever follows it, and whether or not the
// parser may look beyond the end of its input.
func FuzzParseRequest(f *testing.F) {
	addRequests(f)
	f.Fuzz(func(t *testing.T, in []byte, cut1, cut2 uint16) {
		whole, n, err := parseInPieces(string(in), nil)
		cuts := []int{int(cut1) % (len(in) + 1), int(cut2) % (len(in) + 1)}
		slices.Sort(cuts)
		h, m, err2 := parseInPieces(string(in), nil, cuts...)
		if n != m || err != err2 {
			t.Fatalf("whole: %d, %v; cut at %v: %d, %v", n, err, cuts, m, err2)
		}
		if err == nil && describeRequest(whole) != describeRequest(h) {
			t.Fatalf("whole: %s\ncut at %v: %s", describeRequest(whole), cuts, describeRequest(h))
		}

		var exact msg.RequestHead
		exact.Reset()
		if m, err2 := ParseRequest(slices.Clip(slices.Clone(in)), &exact, nil); m != n || err2 != err {
			t.Fatalf("without bytes behind: %d, %v; with: %d, %v", m, err2, n, err)
		}
		if err != nil {
			return
		}
		if describeRequest(whole) != describeRequest(&exact) {
			t.Fatalf("%s differs from %s", describeRequest(whole), describeRequest(&exact))
		}
		h, m, err = parseInPieces(string(in[:n])+"\x00\n:", nil)
		if m != n || err != nil || describeRequest(whole) != describeRequest(h) {
			t.Fatalf("with other bytes behind: %d, %v", m, err)
		}
		rebuilt := rebuild(whole)
		_, m, err = parseInPieces(rebuilt, nil)
		if err != nil || m != len(rebuilt) {
			t.Fatalf("%q is not accepted: %v", rebuilt, err)
		}
	})
}

// rebuild writes a parsed head again.
func rebuild(h *msg.RequestHead) string {
	proto := h.Part(msg.Proto)
	if len(proto) == 0 { // HTTP/1.2 and up
		proto = []byte("HTTP/1.1")
	}
	head := string(h.Part(msg.Method)) + " " + string(h.Part(msg.Target)) + " " + string(proto) + "\r\n"
	return string(h.AppendWire([]byte(head), 0)) + "\r\n"
}

// A request that net/http accepts as well means the same to both.
func FuzzParseRequestLikeNetHTTP(f *testing.F) {
	addRequests(f)
	f.Fuzz(func(t *testing.T, in []byte, _, _ uint16) {
		h, n, err := parseInPieces(string(in), nil)
		if err != nil {
			return
		}
		in = in[bytes.IndexByte(in, h.Part(msg.Method)[0]):] // net/http takes no empty line
		br := bufio.NewReader(bytes.NewReader(in[:min(n, len(in))]))
		std, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if std.Method != string(h.Part(msg.Method)) || std.RequestURI != string(h.Part(msg.Target)) {
			t.Fatalf("net/http reads %s %s, we read %s", std.Method, std.RequestURI, describeRequest(h))
		}
		if h.Form == msg.FormAbsolute && std.URL.Host != string(h.Part(msg.Authority)) && !strings.Contains(std.URL.Host, "%") && !bytes.Contains(h.Part(msg.Authority), []byte("%")) {
			t.Fatalf("net/http reads the host %q, we read %q", std.URL.Host, h.Part(msg.Authority))
		}
		if h.Form == msg.FormOrigin && std.Host != string(h.Peek(msg.Host)) {
			t.Fatalf("net/http reads the host %q, we read %q", std.Host, h.Peek(msg.Host))
		}
		if chunked := len(std.TransferEncoding) > 0; chunked != (h.ContentLength == msg.LenChunked) {
			t.Fatalf("net/http reads Transfer-Encoding %q, we read a length of %d", std.TransferEncoding, h.ContentLength)
		}
		if h.ContentLength >= 0 && std.ContentLength != h.ContentLength {
			t.Fatalf("net/http reads a length of %d, we read %d", std.ContentLength, h.ContentLength)
		}
		if h.ContentLength == msg.LenUnknown && std.ContentLength > 0 {
			t.Fatalf("net/http reads a length of %d, we read none", std.ContentLength)
		}
		total := 0
		for _, list := range std.Header {
			total += len(list)
		}
		if list := std.Header["Content-Type"]; len(list) > 1 {
			total -= len(list) - 1 // only the first is left
		}
		if missing := h.Len() - total; missing < 0 || missing > 5 { // net/http takes some out
			t.Fatalf("net/http has %d fields, we have %d", total, h.Len())
		}
		for i := range h.Recs {
			name, value := string(h.Name(i)), string(h.Value(i))
			if list, ok := std.Header[name]; ok && !slices.Contains(list, value) {
				t.Fatalf("%s is %q to us, %q to net/http", name, value, list)
			}
		}
	})
}

func FuzzParseResponse(f *testing.F) {
	for i, tt := range responseCases {
		f.Add([]byte(tt.in), uint16(i), uint16(3*i))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut1, cut2 uint16) {
		whole, n, err := parseResponseInPieces(string(in), nil)
		cuts := []int{int(cut1) % (len(in) + 1), int(cut2) % (len(in) + 1)}
		slices.Sort(cuts)
		h, m, err2 := parseResponseInPieces(string(in), nil, cuts...)
		if n != m || err != err2 || err == nil && describeResponse(whole) != describeResponse(h) {
			t.Fatalf("whole: %d, %v; cut at %v: %d, %v", n, err, cuts, m, err2)
		}
		if err != nil {
			return
		}
		std, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(in[:n])), nil)
		if err != nil {
			return
		}
		if std.StatusCode != whole.Status {
			t.Fatalf("net/http reads status %d, we read %d", std.StatusCode, whole.Status)
		}
		noBody := whole.Status < 200 || whole.Status == 204 || whole.Status == 304
		if !noBody && whole.ContentLength >= 0 && std.ContentLength != whole.ContentLength {
			t.Fatalf("net/http reads a length of %d, we read %d", std.ContentLength, whole.ContentLength)
		}
	})
}

// With leniency too a head means the same however it arrives, and what is
// accepted without it means the same with it.
func FuzzParseLenient(f *testing.F) {
	addRequests(f)
	for i, tt := range responseCases {
		f.Add([]byte(tt.in), uint16(i), uint16(3*i))
	}
	for _, in := range []string{
		"\n\r\nGET /a#b HTTP/1.0\nHost: a\nA: b\r\n c\r\n\r\n",
		"POST / HTTP/1.1\nHost: a\nA: b\n \r\n\tc\n\nGET / HTTP/1.1\r\nHost: b\r\n\r\n",
		"HTTP/1.1  200 OK\nA:\n b\n c d\r\n\r\n\r\n",
		"GET / HTTP/0.9\nuser agent: a\n\tb\n\r\n\r\n",
	} {
		f.Add([]byte(in), uint16(len(in)/3), uint16(len(in)/2))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut1, cut2 uint16) {
		parse := func(lim *Limits, ends ...int) (text string, n int, err error) {
			var f *msg.Fields
			if bytes.HasPrefix(in, []byte("HTTP/")) {
				var h *msg.ResponseHead
				if h, n, err = parseResponseInPieces(string(in), lim, ends...); err == nil {
					text, f = describeResponse(h), &h.Fields
				}
			} else {
				var h *msg.RequestHead
				if h, n, err = parseInPieces(string(in), lim, ends...); err == nil {
					text, f = describeRequest(h), &h.Fields
				}
			}
			for i := 0; err == nil && i < len(f.Recs); i++ {
				if bytes.ContainsAny(f.Value(i), "\r\n\x00") || f.Recs[i].Flags&msg.Folded != 0 {
					t.Fatalf("%q has the value %q", in, f.Value(i))
				}
			}
			return text, n, err
		}
		lim := &Limits{Dialect: Lenient, Hosts: cut1%2 == 0}
		text, n, err := parse(lim)
		cuts := []int{int(cut1) % (len(in) + 1), int(cut2) % (len(in) + 1)}
		slices.Sort(cuts)
		for _, ends := range [][]int{cuts, everyEnd(min(len(in), 1000))} {
			if text2, m, err2 := parse(lim, ends...); text != text2 || n != m || err != err2 {
				t.Fatalf("whole: %s, %d, %v; cut at %v: %s, %d, %v", text, n, err, ends, text2, m, err2)
			}
		}
		strict, strictLen, strictErr := parse(nil)
		for _, ends := range [][]int{nil, cuts, everyEnd(min(len(in), 1000))} {
			text2, m, err2 := parse(&Limits{Dialect: Folding}, ends...)
			if strictErr == nil && (text2 != strict || m != strictLen || err2 != nil) {
				t.Fatalf("strict: %s, %d; with folds, cut at %v: %s, %d, %v", strict, strictLen, ends, text2, m, err2)
			}
		}
		// Of several types the first counts, and the last where it is lenient.
		types := bytes.Count(bytes.ToLower(in), []byte("content-type")) > 1
		if text2, m, err2 := parse(nil); err2 == nil && (text != text2 && !types || n != m || err != nil) {
			t.Fatalf("lenient: %s, %d, %v; not lenient: %s, %d", text, n, err, text2, m)
		}
	})
}

// A chunked body means the same however it arrives; what net/http accepts as
// well has the same data.
func FuzzBody(f *testing.F) {
	for i, tt := range chunkedCases {
		f.Add([]byte(tt.in), uint16(i), uint16(3*i))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut1, cut2 uint16) {
		var trailers, trailers2 msg.Fields
		data, n, done, err := readBody(msg.LenChunked, &trailers, nil, string(in))
		cuts := []int{int(cut1) % (len(in) + 1), int(cut2) % (len(in) + 1)}
		slices.Sort(cuts)
		data2, m, done2, err2 := readBody(msg.LenChunked, &trailers2, nil, string(in), cuts...)
		if done != done2 || (err == nil) != (err2 == nil) {
			t.Fatalf("whole: %v, %v; cut at %v: %v, %v", done, err, cuts, done2, err2)
		}
		if err != nil || !done {
			return
		}
		if n != m || !bytes.Equal(data, data2) || describeFields(&trailers) != describeFields(&trailers2) {
			t.Fatalf("whole: %q, %d; cut at %v: %q, %d", data, n, cuts, data2, m)
		}
		std, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(in[:n])))
		if err == nil && !bytes.Equal(std, data) {
			t.Fatalf("net/http reads %q, we read %q", std, data)
		}
		var again []byte
		for chunk := range slices.Chunk(data, 7) {
			again = AppendChunk(again, chunk)
		}
		again = append(AppendLastChunk(again), "\r\n"...)
		if data2, m, done, err := readBody(msg.LenChunked, nil, nil, string(again)); m != len(again) || !done || err != nil || !bytes.Equal(data, data2) {
			t.Fatalf("written again: %q, %v, %v", data2, done, err)
		}
	})
}

func FuzzParseContentLength(f *testing.F) {
	f.Add("5")
	f.Add("9223372036854775808")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseContentLength([]byte(s))
		want, err2 := strconv.ParseInt(s, 10, 64)
		if s != "" && (s[0] == '+' || s[0] == '-') {
			err2 = errors.New("signed")
		}
		if (err == nil) != (err2 == nil) || err == nil && got != want {
			t.Fatalf("%q: %d, %v; strconv: %d, %v", s, got, err, want, err2)
		}
	})
}
