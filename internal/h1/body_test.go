package h1

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

type bodyCase struct {
	name     string
	in       string
	data     string
	trailers string
	rest     string // what follows the body
	err      error
}

var chunkedCases = []bodyCase{
	{"empty", "0\r\n\r\n", "", "", "", nil},
	{"one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello", "", "", nil},
	{"several chunks", "3\r\nabc\r\n002\r\nde\r\nA\r\n0123456789\r\n000\r\n\r\nGET", "abcde0123456789", "", "GET", nil},
	{"data that looks like framing", "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\nx", "\r\n0\r\n\r\n", "", "x", nil},
	{"hex of both cases", "a\r\n0123456789\r\nB\r\n01234567890\r\n0\r\n\r\n", "012345678901234567890", "", "", nil},
	{"many leading zeros", strings.Repeat("0", 100) + "5\r\nhello\r\n0\r\n\r\n", "hello", "", "", nil},

	{"no size", "\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkSize},
	{"sign", "-5\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkSize},
	{"prefix", "0x5\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkSize},
	{"space before", " 5\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkSize},
	{"space behind", "5 \r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"no digit", "5g\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkSize},
	{"two sizes", "5 5\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"overflow", "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n", "", "", "", ErrBodyTooLong},
	{"overflow of the sign", "8000000000000005\r\nhello\r\n0\r\n\r\n", "", "", "", ErrBodyTooLong},
	{"overflow to 5", "10000000000000005\r\nhello\r\n0\r\n\r\n", "", "", "", ErrBodyTooLong},
	{"size ended by LF", "5\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkSize},
	{"size ended by CR", "5\rhello\r\n0\r\n\r\n", "", "", "", ErrChunkSize},

	{"extension", "5;a=b\r\nhello\r\n0;c\r\n\r\n", "hello", "", "", nil},
	{"extensions", "5;a;b=c;d=\"e;\\\" f\" ; g\t=\t\"\"; h = i\r\nhello\r\n0\r\n\r\n", "hello", "", "", nil},
	{"quote with high bytes", "5;a=\"\x80\xff\t \"\r\nhello\r\n0\r\n\r\n", "hello", "", "", nil},
	{"empty extension", "5;\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"extension without name", "5;=a\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"extension without value", "5;a=\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"extension with two values", "5;a=b=c\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"two names", "5;a b\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"space at the end", "5;a \r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"space behind a value", "5;a=b \r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"open quote", "5;a=\"b\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"text behind a quote", "5;a=\"b\"c\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"escaped CR", "5;a=\"\\\r\n\"\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"LF in extension", "5;a\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"CR in extension", "5;a\rb\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkSize},
	{"NUL in extension", "5;\x00\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},
	{"control in quote", "5;a=\"\x01\"\r\nhello\r\n0\r\n\r\n", "", "", "", ErrChunkExt},

	{"data without end", "5\r\nhello0\r\n\r\n", "", "", "", ErrChunkEnd},
	{"data ended by LF", "5\r\nhello\n0\r\n\r\n", "", "", "", ErrChunkEnd},
	{"data ended by CR", "5\r\nhello\r0\r\n\r\n", "", "", "", ErrChunkEnd},
	{"data too long", "5\r\nhelloworld\r\n0\r\n\r\n", "", "", "", ErrChunkEnd},
	{"empty line between", "5\r\nhello\r\n\r\n0\r\n\r\n", "", "", "", ErrChunkSize},

	{"trailers", "1\r\na\r\n0\r\nX-A: b\r\nx-sum:\t1 \r\n\r\nGET", "a", "X-A=b x-sum=1", "GET", nil},
	{"end by LF", "0\r\n\n", "", "", "", ErrLineEnd},
	{"end by CR", "0\r\n\rx", "", "", "", ErrLineEnd},
	{"trailer by LF", "0\r\nA: b\n\r\n", "", "", "", ErrLineEnd},
	{"trailer without colon", "0\r\nabc\r\n\r\n", "", "", "", ErrLineEnd},
	{"folded trailer", "0\r\nA: b\r\n c\r\n\r\n", "", "", "", ErrFieldFold},
	{"request in the trailers", "0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "", "", "", ErrFieldName},
	{"length in the trailers", "0\r\nA: b\r\ncontent-LENGTH: 5\r\n\r\n", "", "", "", ErrTrailer},
	{"host in the trailers", "0\r\nHost: a\r\n\r\n", "", "", "", ErrTrailer},
	{"date", "0\r\nDate: x\r\n\r\n", "", "Date=x", "", nil},
	{"unknown forbidden trailer", "0\r\nmax-forwards: 1\r\n\r\n", "", "", "", ErrTrailer},
}

// readBody feeds in to a Body in pieces that end at the given offsets. It
// returns the data and the number of bytes consumed; done is false if in ended
// too early.
func readBody(length int64, trailers *msg.Fields, lim *Limits, in string, ends ...int) (data []byte, n int, done bool, err error) {
	var d Body
	d.Init(length, trailers, lim)
	for _, end := range append(ends, len(in)) {
		for n <= end {
			run, m, done, err := d.Next([]byte(in[n:max(n, end)]))
			if err != nil {
				return data, n, false, err
			}
			data = append(data, run...)
			n += m
			if done {
				return data, n, true, nil
			}
			if m == 0 {
				break
			}
		}
	}
	return data, n, d.Done(), nil
}

func TestBodyChunked(t *testing.T) {
	for _, tt := range chunkedCases {
		t.Run(tt.name, func(t *testing.T) {
			check := func(how string, ends ...int) {
				t.Helper()
				var f msg.Fields
				data, n, done, err := readBody(msg.LenChunked, &f, nil, tt.in, ends...)
				if !errors.Is(err, tt.err) {
					t.Fatalf("%s: error %v, want %v", how, err, tt.err)
				}
				if err != nil {
					return
				}
				if !done || string(data) != tt.data || tt.in[n:] != tt.rest {
					t.Fatalf("%s: data %q, rest %q, done %v", how, data, tt.in[n:], done)
				}
				if got := describeFields(&f); got != tt.trailers {
					t.Fatalf("%s: trailers %q, want %q", how, got, tt.trailers)
				}
				if _, m, done, err := readBody(msg.LenChunked, nil, nil, tt.in, ends...); m != n || !done || err != nil {
					t.Fatalf("%s, trailers dropped: %d, %v, %v", how, m, done, err)
				}
			}
			check("whole")
			for i := range tt.in {
				check(fmt.Sprintf("split at %d", i), i)
			}
			check("byte by byte", everyEnd(len(tt.in))...)
			if tt.err == nil {
				for i := range len(tt.in) - len(tt.rest) {
					if _, _, done, err := readBody(msg.LenChunked, nil, nil, tt.in[:i]); done || err != nil {
						t.Fatalf("prefix of %d bytes: %v, %v", i, done, err)
					}
				}
			}
		})
	}
}

func TestBodyKnownLength(t *testing.T) {
	const in = "hello, next"
	for i := range in {
		data, n, done, err := readBody(5, nil, nil, in, i)
		if string(data) != "hello" || n != 5 || !done || err != nil {
			t.Errorf("split at %d: %q, %d, %v, %v", i, data, n, done, err)
		}
	}
	if _, n, done, err := readBody(0, nil, nil, in); n != 0 || !done || err != nil {
		t.Errorf("an empty body is done at once: %d, %v, %v", n, done, err)
	}
	if data, _, done, err := readBody(20, nil, nil, in); string(data) != in || done || err != nil {
		t.Errorf("a body that is cut off is not done: %q, %v, %v", data, done, err)
	}
	if data, _, done, err := readBody(msg.LenUnknown, nil, nil, in); string(data) != in || done || err != nil {
		t.Errorf("a body without length is never done: %q, %v, %v", data, done, err)
	}
}

func TestBodyOverhead(t *testing.T) {
	tiny := strings.Repeat("1\r\na\r\n", 100_000) + "0\r\n\r\n"
	if data, _, done, err := readBody(msg.LenChunked, nil, nil, tiny); len(data) != 100_000 || !done || err != nil {
		t.Errorf("tiny chunks: %d bytes, %v, %v", len(data), done, err)
	}
	ext := ";a=" + strings.Repeat("b", 15<<10)
	for _, tt := range []struct {
		name string
		in   string
		err  error
	}{
		{"one long extension", "1" + ext + "\r\na\r\n0\r\n\r\n", nil},
		{"two long extensions", "1" + ext + "\r\na\r\n1" + ext + "\r\na\r\n0\r\n\r\n", ErrChunkOverhead},
		{"extension too long", "1" + ext + ext, ErrChunkOverhead},
		{"many extensions", strings.Repeat("1;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\na\r\n", 1000), ErrChunkOverhead},
		{"extensions on chunks of a size", strings.Repeat("20;aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"+strings.Repeat("a", 32)+"\r\n", 1000), nil},
		{"endless zeros", strings.Repeat("0", 20<<10), ErrChunkOverhead},
	} {
		if _, _, _, err := readBody(msg.LenChunked, nil, nil, tt.in); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
	}
}

func TestBodyTrailerLimits(t *testing.T) {
	lim := &Limits{Head: 100, Fields: 5}
	for _, tt := range []struct {
		name string
		in   string
		err  error
	}{
		{"most fields", "0\r\n" + strings.Repeat("A: b\r\n", 5) + "\r\n", nil},
		{"too many fields", "0\r\n" + strings.Repeat("A: b\r\n", 6) + "\r\n", ErrTooManyFields},
		{"longest section", "0\r\nA: " + strings.Repeat("b", 93) + "\r\n\r\n", nil},
		{"section too long", "0\r\nA: " + strings.Repeat("b", 94) + "\r\n\r\n", ErrHeadTooLong},
		{"endless line", "0\r\nA: " + strings.Repeat("b", 1000), ErrHeadTooLong},
	} {
		for _, ends := range [][]int{nil, {10}, everyEnd(len(tt.in))} {
			if _, _, _, err := readBody(msg.LenChunked, nil, lim, tt.in, ends...); !errors.Is(err, tt.err) {
				t.Errorf("%s in %d pieces: %v, want %v", tt.name, len(ends)+1, err, tt.err)
			}
		}
	}
}

func TestParseTrailers(t *testing.T) {
	const in = "X-A: b\r\nETag: c\r\n\r\n"
	var f msg.Fields
	f.Add(msg.Unknown, []byte("X-A"), []byte("own"))
	for i := range in {
		if n, err := ParseTrailers([]byte(in[:i]), &f, nil); n != 0 || err != ErrPartial || f.Len() != 1 || f.Has(msg.Etag) {
			t.Fatalf("prefix of %d bytes: %d, %v", i, n, err)
		}
	}
	if n, err := ParseTrailers([]byte(in+"GET"), &f, nil); n != len(in) || err != nil {
		t.Fatalf("got %d, %v", n, err)
	}
	if got, want := describeFields(&f), "X-A=own X-A=b ETag=c"; got != want || string(f.Peek(msg.Etag)) != "c" {
		t.Errorf("fields %q, want %q", got, want)
	}
	for _, bad := range []string{"X-A: b\r\nHost: c\r\n\r\n", "X-B: c\r\nbad\r\n\r\n"} {
		if _, err := ParseTrailers([]byte(bad), &f, nil); err == nil || err == ErrPartial || f.Len() != 3 {
			t.Errorf("%q: %v, %d fields", bad, err, f.Len())
		}
	}
}

func TestAppendChunk(t *testing.T) {
	b := AppendChunk([]byte("x"), []byte("0123456789abcdefg"))
	b = AppendChunk(b, nil)
	b = AppendChunk(b, []byte("a"))
	b = AppendLastChunk(b)
	if got, want := string(b), "x11\r\n0123456789abcdefg\r\n1\r\na\r\n0\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAppendStatusLine(t *testing.T) {
	for _, tt := range []struct {
		status int
		reason string
		want   string
	}{
		{200, "", "HTTP/1.1 200 OK\r\n"},
		{404, "", "HTTP/1.1 404 Not Found\r\n"},
		{404, "Gone fishing", "HTTP/1.1 404 Gone fishing\r\n"},
		{200, "a\r\nb\x00c", "HTTP/1.1 200 a  b c\r\n"},
		{299, "", "HTTP/1.1 299 Unknown Status Code\r\n"},
		{999, "", "HTTP/1.1 999 Unknown Status Code\r\n"},
		{99, "", "HTTP/1.1 500 Internal Server Error\r\n"},
		{-1, "", "HTTP/1.1 500 Internal Server Error\r\n"},
		{1000, "", "HTTP/1.1 500 Internal Server Error\r\n"},
	} {
		if got := string(AppendStatusLine([]byte("x"), tt.status, []byte(tt.reason))); got != "x"+tt.want {
			t.Errorf("%d %q: got %q", tt.status, tt.reason, got)
		}
	}
}
