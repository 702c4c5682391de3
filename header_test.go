package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Setters for single fields change the trailer section as Set does, and replace fields
// that are stored elsewhere, too.
func TestReceivedThenSetByName(t *testing.T) {
	const trailers = "Referer: theirs\r\nUser-Agent: theirs\r\n"
	var q RequestHeader
	peers.ReadHeader(t, q.Read, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
	peers.ReadHeader(t, q.ReadTrailer, trailers+"\r\n")
	q.SetReferer("mine")
	q.SetUserAgent("mine")
	if string(q.Referer())+string(q.UserAgent()) != "minemine" || string(q.TrailerHeader()) != "\r\n" {
		t.Errorf("%s, trailer section %q", q.String(), q.TrailerHeader())
	}
	var r ResponseHeader
	for _, before := range []bool{false, true} {
		peers.ReadHeader(t, r.Read, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		if before {
			r.SetServer("mine")
		}
		peers.ReadHeader(t, r.ReadTrailer, "Server: theirs\r\nLast-Modified: theirs\r\n\r\n")
		if !before {
			r.SetServer("mine")
		}
		r.SetLastModified(zeroTime)
		if got := peers.Written(r.String(), "Server"); len(got) != 1 || got[0] != "mine" || string(r.Server()) != "mine" || string(r.TrailerHeader()) != "\r\n" {
			t.Errorf("before %v: Server %q, %q, trailer section %q", before, got, r.Server(), r.TrailerHeader())
		}
	}
}

// A peer may declare any number of trailer fields. Only a limited number is listed.
func TestManyTrailers(t *testing.T) {
	var f msg.Fields
	for i := range 600 {
		f.PutMore(msg.Unknown, fmt.Appendf(nil, "x-%d", i), []byte("v"), msg.Normalized)
	}
	var h ResponseHeader
	h.takeTrailers(&f)
	if n := len(h.PeekTrailerKeys()); n != head.MaxTrailers {
		t.Errorf("%d names are listed", n)
	}
}

// appendSlowly writes the head of a copy that can't use the fast path: its reason-phrase
// is the usual one, but set as a special one.
func appendSlowly(dst []byte, h *ResponseHeader, by head.Sender) []byte {
	var slow ResponseHeader
	h.CopyTo(&slow)
	if len(slow.StatusMessage()) == 0 && slow.StatusCode() == StatusOK {
		slow.SetStatusMessage([]byte("OK"))
	}
	return h1.AppendResponseHead(dst, &slow.s, &slow.opening, by)
}

// The fast path for writing a response's head gives the same bytes as the general one,
// whatever was done to the header.
func TestQuickHeadIsGeneral(t *testing.T) {
	peers.WithoutEngine(t)
	defer clock.Start()()
	rng := rand.New(rand.NewPCG(1, 2))
	keys := []string{
		"Content-Type", "X-Custom", "x-other-name", "Cache-Control", "Etag", "Server", "Date", "Connection",
		"Content-Encoding", "Content-Length", "Trailer", "Set-Cookie", "Vary", "Transfer-Encoding",
	}
	values := []string{"", "a", "text/html", "close", "keep-alive", strings.Repeat("v", 70), "x\r\ny", "12"}
	var h ResponseHeader
	same := 0
	for round := range 20_000 {
		h.Reset()
		if rng.IntN(8) == 0 {
			h.DisableNormalizing()
		}
		common := round%2 == 0 // mostly headers that use the fast path
		n := len(keys)
		if common {
			n = 5
		}
		for range rng.IntN(6) {
			key, value := keys[rng.IntN(n)], values[rng.IntN(len(values))]
			switch rng.IntN(7) {
			case 0:
				h.Add(key, value)
			case 1:
				h.Del(key)
			case 2:
				h.SetContentType(value)
			default:
				h.Set(key, value)
			}
		}
		if !common {
			switch rng.IntN(6) {
			case 0:
				h.SetStatusCode([]int{100, 204, 206, 304, 404, 999}[rng.IntN(6)])
			case 1:
				h.SetStatusMessage([]byte("Fine"))
			case 2:
				h.SetProtocol([]byte("HTTP/1.0"))
			case 3:
				h.SetNoDefaultContentType(true)
			case 4:
				var to ResponseHeader
				h.CopyTo(&to)
				to.CopyTo(&h)
			}
		}
		h.SetContentLength([]int{-2, -1, 0, 7, 13, 100, 999, 1000, 1 << 30}[rng.IntN(9)])
		length := rng.IntN(2) == 0
		by := head.Sender{Server: "gale", Date: clock.Date(), ZeroLength: length}
		got := string(h1.AppendResponseHead([]byte("before"), &h.s, &h.opening, by))
		want := string(appendSlowly([]byte("before"), &h, by))
		if got != want {
			t.Fatalf("got:\n%q\nin the general way:\n%q", got, want)
		}
		if whole := h.opening.Whole(&h.s, by.Server, by.Date); whole != nil && length && "before"+string(whole) != got {
			t.Fatalf("got:\n%q\nas a whole:\n%q", got, whole)
		}
		if _, ok := h.s.Lines(); ok {
			same++
		}
	}
	if same < 5000 {
		t.Errorf("only %d heads could go the quick way", same)
	}
}

func TestResponseHeaderText(t *testing.T) {
	const start, text = "HTTP/1.1 200 OK\r\n", "Content-Type: text/plain; charset=utf-8\r\n"
	for _, c := range []struct {
		name   string
		build  func(h *ResponseHeader)
		server string
		want   string
	}{
		{"nothing", func(h *ResponseHeader) {}, "", start + "Content-Length: 0\r\n\r\n"},
		{"body", func(h *ResponseHeader) { h.SetContentLength(5) }, "gale", start + "Server: gale\r\n" + text + "Content-Length: 5\r\n\r\n"},
		{"order", func(h *ResponseHeader) {
			h.SetConnectionClose()
			h.Add("Set-Cookie", "a=b")
			h.Set("X-A", "1")
			h.SetContentLength(5)
			h.Set("etag", "e")
			h.SetContentEncoding("gzip")
			h.SetContentType("x/y")
			h.Set("Date", "now")
			h.SetServer("own")
			h.Add("Set-Cookie", "c=d")
		}, "gale", start + "Server: own\r\nDate: now\r\nContent-Type: x/y\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\nX-A: 1\r\nEtag: e\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nConnection: close\r\n\r\n"},
		{"server name", func(h *ResponseHeader) {}, "x\r\nInjected: y", start + "Server: x  Injected: y\r\nContent-Length: 0\r\n\r\n"},
		{"chunked", func(h *ResponseHeader) { h.SetContentLength(-1) }, "", start + text + "Transfer-Encoding: chunked\r\n\r\n"},
		{"until the end", func(h *ResponseHeader) { h.SetContentLength(-2) }, "", start + text + "Connection: close\r\n\r\n"},
		{"204", func(h *ResponseHeader) { h.SetContentLength(5); h.SetStatusCode(204) }, "", "HTTP/1.1 204 No Content\r\n\r\n"},
		{"304", func(h *ResponseHeader) { h.SetStatusCode(304); h.SetContentLength(5); h.Set("ETag", "x") }, "", "HTTP/1.1 304 Not Modified\r\nEtag: x\r\n\r\n"},
		{"101", func(h *ResponseHeader) {
			h.SetStatusCode(101)
			h.Set("Upgrade", "websocket")
			h.Set("connection", "Upgrade")
		}, "", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"},
		{"status", func(h *ResponseHeader) { h.SetStatusCode(12345) }, "", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"},
		{"reason", func(h *ResponseHeader) { h.SetStatusMessage([]byte("a\r\nb")) }, "", "HTTP/1.1 200 a  b\r\nContent-Length: 0\r\n\r\n"},
		{"1.0", func(h *ResponseHeader) { h.SetProtocol([]byte("HTTP/1.0")) }, "", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"no default type", func(h *ResponseHeader) { h.SetNoDefaultContentType(true); h.SetContentLength(5) }, "", start + "Content-Length: 5\r\n\r\n"},
		{"coding by hand", func(h *ResponseHeader) { h.Set("transfer-encoding", "chunked") }, "", start + "Content-Length: 0\r\n\r\n"},
		{"content range", func(h *ResponseHeader) { h.SetContentRange(1, 2, 30) }, "", start + "Content-Length: 0\r\nContent-Range: bytes 1-2/30\r\n\r\n"},
		{"last modified", func(h *ResponseHeader) { h.SetLastModified(time.Unix(784111777, 5)) }, "", start + "Content-Length: 0\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n"},
		{"closing beats upgrade", func(h *ResponseHeader) { h.Set("Connection", "x-y"); h.SetConnectionClose() }, "", start + "Content-Length: 0\r\nConnection: close\r\n\r\n"},
	} {
		var h ResponseHeader
		h.s.Implied |= head.NoDate
		c.build(&h)
		if got := string(h.appendHead(nil, c.server)); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// TestResponseHeaderUsual proves that the prebuilt lines are the same as those that are
// written one by one, with the clock held and not held, for two servers.
func TestResponseHeaderUsual(t *testing.T) {
	for i := range 3 {
		if i == 1 {
			defer clock.Start()()
		}
		for _, server := range []string{"gale", "other", ""} {
			var fast, slow ResponseHeader
			fast.SetContentLength(12)
			slow.SetContentLength(12)
			slow.SetContentType("text/plain; charset=utf-8")
			a, b := fast.appendHead(nil, server), slow.appendHead(nil, server)
			if len(a) != len(b) || !strings.Contains(string(a), "Date: ") {
				t.Errorf("%q\n%q", a, b)
			}
		}
	}
}

func TestHeaderReadErrors(t *testing.T) {
	boom := errors.New("boom")
	broken := func(s string) *bufio.Reader {
		return bufio.NewReader(io.MultiReader(strings.NewReader(s), &failing{boom}))
	}
	var h RequestHeader
	for _, c := range []struct {
		name string
		r    *bufio.Reader
		want error
	}{
		{"empty", bufio.NewReader(strings.NewReader("")), io.EOF},
		{"line ends only", bufio.NewReader(strings.NewReader("\r\n\r\n\r\n")), io.EOF},
		{"in part", bufio.NewReader(strings.NewReader("GET / HT")), io.EOF},
		{"failure at once", broken(""), boom},
		{"failure later", broken("GET / HTTP/1.1\r\n"), boom},
		{"too long", bufio.NewReaderSize(strings.NewReader("GET /"+strings.Repeat("a", 100)+" HTTP/1.1\r\n\r\n"), 64), ErrSmallReadBuffer},
		{"no method", bufio.NewReader(strings.NewReader(" / HTTP/1.1\r\n\r\n")), ErrMissingRequestMethod},
		{"bad method", bufio.NewReader(strings.NewReader("G@T / HTTP/1.1\r\n\r\n")), ErrUnsupportedRequestMethod},
		{"no target", bufio.NewReader(strings.NewReader("GET  HTTP/1.1\r\n\r\n")), ErrEmptyRequestURI},
		{"two lengths", bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n")), ErrDuplicateContentLength},
		{"length", bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n")), ErrNonNumericChars},
		{"coding", bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n")), ErrUnsupportedTransferEncoding},
	} {
		if err := h.Read(c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if h.String() != "GET / HTTP/1.1\r\n\r\n" {
			t.Errorf("%s: %q is left", c.name, h.String())
		}
	}
	var small *ErrSmallBuffer
	if err := h.Read(bufio.NewReaderSize(strings.NewReader(strings.Repeat("a", 120)), 64)); !errors.As(err, &small) {
		t.Errorf("a long head: %v", err)
	}
	h.hideContents = true
	if err := h.Read(bufio.NewReader(strings.NewReader("GET /secret"))); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("contents aren't hidden: %v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestHeaderSetAgain proves that setting one field again and again takes no more memory.
func TestHeaderSetAgain(t *testing.T) {
	peers.WithoutEngine(t)
	var h ResponseHeader
	h.Set("X-First", "1")
	for i := range 100_000 {
		h.Set("X-Count", fmt.Sprint(i))
		h.Set("X-First", fmt.Sprint(i))
		h.SetContentType("text/" + fmt.Sprint(i))
	}
	if n := cap(h.s.Buf); n > 64<<10 {
		t.Errorf("the header has grown to %d bytes", n)
	}
	if got := string(h.Peek("X-Count")); got != "99999" {
		t.Errorf("X-Count is %q", got)
	}
}

// A reason-phrase that was set and removed leaves nothing between the fields.
func TestStatusMessageTakenBack(t *testing.T) {
	var h ResponseHeader
	h.Reset()
	h.s.Implied |= head.NoDate
	h.SetContentLength(1)
	h.Set("X-A", "1")
	h.SetStatusMessage([]byte("Fine"))
	h.Set("X-B", "2")
	h.SetStatusMessage(nil)
	const want = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 1\r\nX-A: 1\r\nX-B: 2\r\n\r\n"
	if got := h.String(); got != want {
		t.Fatalf("the head is %q, want %q", got, want)
	}
}

// A special spelling of a name from SetCanonical is not used when the header is used
// again.
func TestSpellingEndsWithReset(t *testing.T) {
	var h ResponseHeader
	h.Set("X-Custom", "1")
	h.Reset()
	h.Set("X-Custom", "1")
	h.SetCanonical([]byte("x-custom"), []byte("1"))
	h.Reset()
	h.s.Implied |= head.NoDate
	h.SetContentLength(1)
	h.Set("x-custom", "1")
	const want = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 1\r\nX-Custom: 1\r\n\r\n"
	if got := h.String(); got != want {
		t.Fatalf("the head is %q, want %q", got, want)
	}
}

// A header that is used again is like a new one, for every getter and on the wire,
// although it keeps Server, Content-Type and the lines that were set before.
func TestUsedHeaderIsLikeNew(t *testing.T) {
	peers.WithoutEngine(t)
	keys := []string{
		"Server", "Content-Type", "X-Custom-A", "X-Custom-B", "x-custom-a", "Etag", "Vary", "Cache-Control", "Age",
		"Set-Cookie", "Trailer", "Date", "Bad name", "Content-Encoding",
	}
	values := []string{"", "a", "b", "text/html", "text/json", "X-Custom-A", "Server", "x\r\ny", strings.Repeat("v", 200), strings.Repeat("w", 3000)}
	peers.CompareUsed(t, 5, describe, func(rng *rand.Rand, do func(string, func(*ResponseHeader))) {
		if rng.IntN(8) == 0 {
			do("DisableNormalizing", func(h *ResponseHeader) { h.DisableNormalizing() })
		}
		n := len(keys)
		if rng.IntN(3) > 0 {
			n = 8
		}
		for i := range rng.IntN(7) {
			key, value := keys[(i+rng.IntN(2))%n], values[rng.IntN(len(values)-1)]
			if rng.IntN(32) == 0 {
				value = values[len(values)-1] // so that memory is compacted
			}
			switch rng.IntN(12) {
			case 0:
				do("Add "+key+value, func(h *ResponseHeader) { h.Add(key, value) })
			case 1:
				do("Del "+key, func(h *ResponseHeader) { h.Del(key) })
			case 2:
				do("SetCanonical "+key+value, func(h *ResponseHeader) { h.SetCanonical([]byte(key), []byte(value)) })
			case 3:
				do("SetContentType "+value, func(h *ResponseHeader) { h.SetContentType(value) })
			case 4:
				do("SetServer "+value, func(h *ResponseHeader) { h.SetServerBytes([]byte(value)) })
			case 5:
				do("SetStatusMessage", func(h *ResponseHeader) { h.SetStatusMessage([]byte(value)) })
			case 6:
				do("CopyTo", func(h *ResponseHeader) {
					var other ResponseHeader
					h.CopyTo(&other)
					other.CopyTo(h)
				})
			default:
				do("Set "+key+value, func(h *ResponseHeader) { h.Set(key, value) })
			}
		}
		switch rng.IntN(12) {
		case 0:
			do("SetStatusCode", func(h *ResponseHeader) { h.SetStatusCode(StatusNotFound) })
		case 1:
			do("SetConnectionClose", func(h *ResponseHeader) { h.SetConnectionClose() })
		case 2:
			do("SetNoDefaultContentType", func(h *ResponseHeader) { h.SetNoDefaultContentType(true) })
		case 3:
			do("SetProtocol", func(h *ResponseHeader) { h.SetProtocol([]byte("HTTP/1.0")) })
		}
		if n := []int{7, 7, 7, 12, 1234, 0, -1, -2}[rng.IntN(8)]; n != 0 || rng.IntN(2) == 0 {
			do(fmt.Sprint("SetContentLength ", n), func(h *ResponseHeader) { h.SetContentLength(n) })
		}
	})
}

// describe returns the results of every way to read a header.
func describe(h *ResponseHeader) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n%q\n", h.AppendBytes(nil), h.appendHead(nil, "gale"))
	fmt.Fprintf(&b, "%d %q %q %q\n", h.Len(), h.Server(), h.ContentType(), h.TrailerHeader())
	for k, v := range h.All() {
		fmt.Fprintf(&b, "%q=%q, %q %q\n", k, v, h.PeekBytes(k), h.PeekAll(string(k)))
	}
	return b.String()
}

// lines returns the fields of f as sorted "name: value" lines, names in lower
// case and values without the whitespace around them.
func lines(f *msg.Fields) (out []string) {
	for i := range f.Recs {
		if f.Recs[i].Flags&msg.Dead == 0 {
			out = append(out, line(f.RawName(i), f.Value(i)))
		}
	}
	slices.Sort(out)
	return out
}

func line(name, value []byte) string {
	return strings.ToLower(string(name)) + ": " + strings.Trim(string(value), " \t")
}

// acceptable reports whether err is one by which a parser may refuse what a caller has
// set. It must not have read anything else than was set.
func acceptable(err error) bool {
	return slices.ContainsFunc([]error{
		h1.ErrHost, h1.ErrTarget, h1.ErrTargetTooLong, h1.ErrMethodTooLong, h1.ErrVersion, h1.ErrVersionSyntax,
		h1.ErrCodingHTTP10, h1.ErrBodyTooLong, h1.ErrHeadTooLong,
	}, func(e error) bool { return errors.Is(err, e) })
}

// FuzzRequestHeaderSet sets random texts, writes the header and parses it. The parsed
// header must be the same as the written one, without additional fields.
func FuzzRequestHeaderSet(f *testing.F) {
	f.Add("X-Foo", "bar", "x-foo", "baz", "GET", "/a?b", "HTTP/1.1", byte(0))
	f.Add("X-Foo\r\nInjected: yes", "bar", "a", "b\r\nInjected: yes\r\n\r\nGET / HTTP/1.1", "GET / HTTP/1.1\r\nInjected:", "/ HTTP/1.1\r\nInjected: yes", "HTTP/1.1\r\nInjected: yes", byte(1))
	f.Add("Cookie", "a=b; c=d\r\nInjected: x", "coOkie", "\x00;\x01", "POST", "*", "", byte(2))
	f.Add("Content-Length", "5", "Transfer-Encoding", "chunked", "PUT", "/\x7f #\n", "HTTP/1.0", byte(3))
	f.Add("Connection", "close, x-a", "Trailer", "a, b, content-length", "", "", "", byte(4))
	f.Add("Connection", "\x04\x04close, xlose-a", "x", "y", "", "", "", byte(0))
	f.Add("User-Agent", "", "Expect", "100-continue", "QUERY", "?x", "HTTP/1.1", byte(5))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2, method, target, proto string, how byte) {
		var h RequestHeader
		if how&1 != 0 {
			h.DisableNormalizing()
		}
		if how&2 != 0 {
			h.DisableSpecialHeader()
		}
		h.SetHost("example.com")
		h.SetMethod(method)
		h.SetRequestURI(target)
		h.SetProtocol(proto)
		h.Set(k1, v1)
		h.Add(k2, v2)
		if how&4 != 0 {
			h.SetCookie(k1, v2)
		}
		if how&8 != 0 {
			h.SetCanonical([]byte(k2), []byte(v1))
		}
		if how&16 != 0 {
			_ = h.SetTrailer(k1)
			_ = h.AddTrailer(v2)
		}
		h.SetNoDefaultContentType(true)
		var p RequestHeader
		head := h.Header()
		n, err := h1.ParseRequest(head, &p.s.RequestHead, nil)
		if err != nil {
			if !acceptable(err) && !bytes.Contains(h.Protocol(), []byte(" ")) {
				t.Fatalf("%q is refused: %v", head, err)
			}
			return
		}
		if n != len(head) {
			t.Fatalf("%q ends after %d of %d bytes", head, n, len(head))
		}
		var want []string
		for k, v := range h.All() {
			want = append(want, line(k, v))
		}
		slices.Sort(want)
		if got := lines(&p.s.Fields); !slices.Equal(got, want) {
			t.Fatalf("%q was read as\n%q, the header says\n%q", head, got, want)
		}
		if p.s.ContentLength != h.s.ContentLength && !(p.s.ContentLength == msg.LenUnknown && h.s.ContentLength == 0) {
			t.Fatalf("%q has length %d, the header says %d", head, p.s.ContentLength, h.s.ContentLength)
		}
		if p.ConnectionClose() != h.ConnectionClose() && string(h.Protocol()) == "HTTP/1.1" {
			t.Fatalf("%q: close is %v, the header says %v", head, p.ConnectionClose(), h.ConnectionClose())
		}
		if !bytes.Equal(p.Method(), h.Method()) {
			t.Fatalf("%q has method %q, the header says %q", head, p.Method(), h.Method())
		}
		checkTrailerSection(t, h.TrailerHeader())
	})
}

// FuzzResponseHeaderSet is FuzzRequestHeaderSet for responses.
func FuzzResponseHeaderSet(f *testing.F) {
	f.Add("X-Foo", "bar", "x-foo", "baz", 200, "OK", "HTTP/1.1", byte(0))
	f.Add("Set-Cookie", "a=b\r\nInjected: yes", "Set-Cookie", "", 404, "no\r\nInjected: yes", "HTTP/1.1\r\nInjected: yes", byte(1))
	f.Add("Server", "a\x00b", "Date", "x\ny", 304, "\x01", "", byte(2))
	f.Add("Content-Length", "5", "Transfer-Encoding", "chunked", 204, "", "HTTP/1.0", byte(3))
	f.Add("Connection", "close, x-a", "Trailer", "a, b, content-length", -7, "", "", byte(4))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 string, status int, reason, proto string, how byte) {
		var h ResponseHeader
		if how&1 != 0 {
			h.DisableNormalizing()
		}
		h.SetStatusCode(status)
		h.SetStatusMessage([]byte(reason))
		h.SetProtocol([]byte(proto))
		h.Set(k1, v1)
		h.Add(k2, v2)
		if how&4 != 0 {
			h.DelClientCookie(k1)
		}
		if how&8 != 0 {
			h.SetCanonical([]byte(k2), []byte(v1))
		}
		if how&16 != 0 {
			_ = h.SetTrailer(k1)
			_ = h.AddTrailer(v2)
		}
		h.SetNoDefaultContentType(true)
		h.s.Implied |= head.NoDate
		var p ResponseHeader
		head := h.Header()
		n, err := h1.ParseResponse(head, &p.s.ResponseHead, nil)
		if err != nil {
			if !acceptable(err) && !bytes.Contains(h.Protocol(), []byte(" ")) {
				t.Fatalf("%q is refused: %v", head, err)
			}
			return
		}
		if n != len(head) {
			t.Fatalf("%q ends after %d of %d bytes", head, n, len(head))
		}
		var want []string
		for k, v := range h.All() {
			id := msg.Lookup(k)
			if 1<<id&(1<<msg.ContentLength|1<<msg.TransferEncoding) == 0 || statusHasBody(h.StatusCode()) {
				want = append(want, line(k, v))
			}
		}
		for i := range h.s.Recs { // All omits empty ones
			r := &h.s.Recs[i]
			if r.Flags&msg.Dead == 0 && r.ValLen == 0 && 1<<r.ID&(responseOwn&^(1<<msg.SetCookie|1<<msg.Trailer)) != 0 {
				want = append(want, line(h.s.RawName(i), nil))
			}
		}
		slices.Sort(want)
		if got := lines(&p.s.Fields); !slices.Equal(got, want) {
			t.Fatalf("%q was read as\n%q, the header says\n%q", head, got, want)
		}
		checkTrailerSection(t, h.TrailerHeader())
	})
}

func checkTrailerSection(t *testing.T, b []byte) {
	var f msg.Fields
	if n, err := h1.ParseTrailers(b, &f, nil); err != nil || n != len(b) {
		t.Fatalf("trailer section %q: %d bytes, %v", b, n, err)
	}
}
