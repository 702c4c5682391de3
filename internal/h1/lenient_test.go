package h1

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/race"
)

// Each leniency accepts what is refused without it, however the bytes arrive,
// and what is next to it stays refused.
func TestLenient(t *testing.T) {
	const post = "POST / HTTP/1.1\r\nHost: h\r\n"
	for _, tt := range []struct {
		name, in string
		ok       bool
	}{
		{"HTTP/0.9", "GET / HTTP/0.9\r\n\r\n", true},
		{"no version", "GET /\r\n\r\n", false},
		{"fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", true},
		{"length beside chunked", post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", true},
		{"two lengths beside chunked", post + "Content-Length: 1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", false},
		{"space within a name", "GET / HTTP/1.1\r\nHost: h\r\nuser agent: x\r\n\r\n", true},
		{"spaces within a name", "GET / HTTP/1.1\r\nHost: h\r\na  b c: x\r\n\r\n", true},
		{"space before the colon", "GET / HTTP/1.1\r\nHost: h\r\nuser-agent : x\r\n\r\n", false},
		{"spaces within and before the colon", "GET / HTTP/1.1\r\nHost: h\r\na b : x\r\n\r\n", false},
		{"space before the name", "GET / HTTP/1.1\r\nHost: h\r\n user: x\r\n\r\n", false},
		{"tab within a name", "GET / HTTP/1.1\r\nHost: h\r\nuser\tagent: x\r\n\r\n", false},
		{"space within a name of framing", post + "Content Length: 1\r\nTransfer Encoding: chunked\r\n\r\n", true},
		{"status line", "HTTP/1.1   200 OK\r\n\r\n", true},
		{"status line of 0.9", "HTTP/0.9 200 OK\r\n\r\n", true},
		{"several empty lines first", "\r\n\n\r\n" + post + "\r\n", true},
		{"CR before the request line", "\r" + post + "\r\n", false},
		{"bare LF behind a request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", true},
		{"bare LF behind a target", "GET /\nHost: h\r\n\r\n", false},
		{"bare LF behind a status line", "HTTP/1.1 200 OK\nA: b\r\n\r\n", true},
		{"bare LF behind a status", "HTTP/1.1 200\nA: b\r\n\r\n", true},
		{"bare LF behind fields", "GET / HTTP/1.1\r\nHost: h\nA: b\nC: d\r\n\r\n", true},
		{"bare LF within a name", "GET / HTTP/1.1\r\nHost: h\nA\nC: d\r\n\r\n", false},
		{"CR behind a field", "GET / HTTP/1.1\r\nHost: h\rA: b\r\n\r\n", false},
		{"CR CR LF behind a field", "GET / HTTP/1.1\r\nHost: h\r\r\nA: b\r\n\r\n", false},
		{"no fields behind a bare LF", "GET / HTTP/1.0\n\r\n", true},
		{"folded", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", true},
		{"folded behind bare LF", "HTTP/1.1 200 OK\r\nA: b\n\tc\nD:\n\te\r\n\r\n", true},
		{"folded first line", "GET / HTTP/1.1\r\n A: b\r\nHost: h\r\n\r\n", false},
		{"NUL in a fold", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n \x00\r\n\r\n", false},
		{"CR in a fold", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\rd\r\n\r\n", false},
		{"folded Host", "GET / HTTP/1.1\r\nHost:\r\n h\r\n\r\n", false},
		{"folded length", post + "Content-Length: 1\r\n \r\n\r\n", false},
		{"folded coding", post + "Transfer-Encoding:\r\n chunked\r\n\r\n", false},
		{"folded length of a response", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n", false},
		{"two lengths", post + "Content-Length: 1\nContent-Length: 1\r\n\r\n", false},
		{"two hosts", post + "Host: h\r\n\r\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, dialect := range []Dialect{Strict, Lenient} {
				var length int64
				parse := func(h *msg.RequestHead, r *msg.ResponseHead, b []byte) (n int, err error) {
					lim := &Limits{Dialect: dialect}
					if tt.in[0] == 'H' {
						n, err = ParseResponse(b, r, lim)
						return n, err
					}
					n, err = ParseRequest(b, h, lim)
					length = h.ContentLength
					return n, err
				}
				n, err := parse(new(msg.RequestHead), new(msg.ResponseHead), []byte(tt.in))
				if ok := (dialect == Lenient) && tt.ok; (err == nil) != ok || ok && n != len(tt.in) {
					t.Errorf("(dialect == Lenient) %v: %d, %v", (dialect == Lenient), n, err)
				}
				if err == nil && tt.name == "space within a name of framing" && length != msg.LenUnknown {
					t.Error("such a name frames the message:", length)
				}
				h, r := new(msg.RequestHead), new(msg.ResponseHead)
				err = ErrPartial
				for i := 1; i <= len(tt.in) && err == ErrPartial; i++ {
					_, err = parse(h, r, []byte(tt.in[:i]))
				}
				if (err == nil) != ((dialect == Lenient) && tt.ok) {
					t.Errorf("(dialect == Lenient) %v, byte by byte: %v", (dialect == Lenient), err)
				}
			}
		})
	}
}

// A head whose last two line ends are not both CRLF ends at its first empty line
// too, but only once CRLF CRLF is there, from the empty line on, however the bytes
// arrive. Only a head without fields needs none for its CRLF.
func TestLenientEnds(t *testing.T) {
	for _, tt := range []struct {
		in string
		n  int // 0: not yet
	}{
		{"GET / HTTP/1.0\n\r\n", 17},
		{"GET / HTTP/1.0\n\n", 0},
		{"GET / HTTP/1.0\r\n\n", 0},
		{"GET / HTTP/1.0\n\n\r\n\r\n", 16},
		{"GET / HTTP/1.0\nA: b\n\n", 0},
		{"GET / HTTP/1.0\nA: b\n\r\n", 0},
		{"GET / HTTP/1.0\nA: b\r\n\n", 0},
		{"GET / HTTP/1.0\nA: b\r\n\n\r\n", 0},
		{"GET / HTTP/1.0\nA: b\n\r\n\r\n", 22},
		{"GET / HTTP/1.0\nA: b\n\r\nbody", 0},
		{"GET / HTTP/1.0\nA: b\n\nGET / HTTP/1.0\r\n\r\n", 21},
		{"GET / HTTP/1.0\nA: b\n c\n\n\r\r\n\r\n", 24},
		{"HTTP/1.0 200 OK\n\r\n", 18},
		{"HTTP/1.0 204\n\n", 0},
		{"HTTP/1.0 204\n\n\r\n\r\n", 14},
	} {
		parse := func(ends ...int) (n int, err error) {
			lim := &Limits{Dialect: Lenient}
			if tt.in[0] == 'H' {
				_, n, err = parseResponseInPieces(tt.in, lim, ends...)
				return n, err
			}
			_, n, err = parseInPieces(tt.in, lim, ends...)
			return n, err
		}
		for _, ends := range [][]int{nil, {len(tt.in) - 1}, everyEnd(len(tt.in))} {
			if n, err := parse(ends...); n != tt.n || (err == ErrPartial) != (tt.n == 0) || err != nil && err != ErrPartial {
				t.Errorf("%q in %d pieces: %d, %v; want %d", tt.in, len(ends)+1, n, err, tt.n)
			}
		}
	}
	long := "GET / HTTP/1.0\nA: b\n\n" + strings.Repeat("x", 100)
	if _, _, err := parseInPieces(long, &Limits{Dialect: Lenient, Head: 64}); err != ErrHeadTooLong {
		t.Errorf("without CRLF CRLF within the limit: %v", err)
	}
}

// Each line end of a folded value becomes one space, with the whitespace around it,
// and the block of lines stays as it came.
func TestLenientFolds(t *testing.T) {
	for lines, want := range map[string]string{
		"A: b\r\n c\r\n":                       "A=b c",
		"A: b \t\r\n \t c \r\n":                "A=b c",
		"A: b\n c\n\td\r\n":                    "A=b c d",
		"A:\r\n b\r\n":                         "A=b",
		"A: b\r\n \r\n c\r\n":                  "A=b  c",
		"A: b\r\n \r\n":                        "A=b",
		"A:\r\n \r\n\t\r\n":                    "A=",
		"A: b\r\n C: d\r\nE: f\r\n":            "A=b C: d E=f",
		"A: b\r\n c\r\nD: e\r\n\tf\r\nG:h\r\n": "A=b c D=e f G=h",
		"a b: c\r\n d\r\n":                     "a b=c d",
	} {
		in := "GET / HTTP/1.0\r\n" + lines + "\r\n"
		for _, ends := range [][]int{nil, everyEnd(len(in))} {
			h, n, err := parseInPieces(in, &Limits{Dialect: Lenient}, ends...)
			if err != nil || n != len(in) || describeFields(&h.Fields) != want {
				t.Errorf("%q: %d, %v, %q; want %q", in, n, err, describeFields(&h.Fields), want)
				continue
			}
			if raw := string(h.Part(msg.Raw)); raw != lines+"\r\n" {
				t.Errorf("%q: the lines are %q", in, raw)
			}
		}
	}
}

// What lenient parsing waits for and joins costs no more than its bytes: were each
// call to look at all that came before, this test would take minutes.
func TestLenientDrip(t *testing.T) {
	for name, in := range map[string]string{
		"folds of one field": "GET / HTTP/1.0\r\nA: b\r\n" + strings.Repeat(" \r\n", race.Fewer(300_000)) + "\r\n",
		"folded fields":      "GET / HTTP/1.0\r\n" + strings.Repeat("A:\r\n b\n", race.Fewer(1<<16-10)) + "B: c\r\n\r\n",
		"a long fold":        "GET / HTTP/1.0\r\nA: b\n " + strings.Repeat("c", race.Fewer(1<<20)) + "\r\n\r\n",
		"no CRLF CRLF":       "GET / HTTP/1.0\r\nA: b\n\n" + strings.Repeat("\r\r", race.Fewer(1<<19)) + "\r\n\r\n",
	} {
		h := new(msg.RequestHead)
		h.Reset()
		lim := &Limits{Dialect: Lenient, Head: 2 << 20, Fields: 1 << 16}
		b := []byte(in)
		for i := range b {
			if _, err := ParseRequest(b[:i], h, lim); err != ErrPartial {
				t.Fatalf("%s, %d bytes: %v", name, i, err)
			}
		}
		if _, err := ParseRequest(b, h, lim); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Several Host fields stay only if the limits say so, and each has to be valid.
func TestLimitsHosts(t *testing.T) {
	const head = "GET / HTTP/1.1\r\nHost: a\r\nHost: "
	for _, tt := range []struct {
		second string
		hosts  bool
		err    error
	}{
		{"b", false, ErrManyHosts},
		{"b", true, nil},
		{"b/c", true, ErrHost},
	} {
		h, _, err := parseInPieces(head+tt.second+"\r\n\r\n", &Limits{Hosts: tt.hosts})
		if err != tt.err || err == nil && (string(h.Peek(msg.Host)) != "a" || h.Len() != 2) {
			t.Errorf("%q, %v: %v, %v", tt.second, tt.hosts, describeFields(&h.Fields), err)
		}
	}
}

// What these bytes are refused for without leniency.
func TestNotLenient(t *testing.T) {
	for in, want := range map[string]error{
		"\nGET / HTTP/1.1\r\nHost: h\r\n\r\n":             ErrLineEnd,
		"\r\n\nGET / HTTP/1.1\r\nHost: h\r\n\r\n":         ErrLineEnd,
		"GET / HTTP/1.1\nHost: h\r\n\r\n":                 ErrVersionSyntax,
		"GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n":         ErrLineEnd,
		"GET / HTTP/1.1\r\nHost: h\n\r\n":                 ErrLineEnd,
		"GET / HTTP/1.1\r\nHost: h\r\n\n":                 ErrLineEnd,
		"GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n": ErrFieldFold,
		"GET / HTTP/1.1\r\n Host: h\r\n\r\n":              ErrFieldFold,
		"HTTP/1.1 200\n\r\n":                              ErrStatusLine,
		"HTTP/1.1 200 OK\n\r\n":                           ErrStatusLine,
		"HTTP/1.1 200 OK\r\nA: b\n\r\n":                   ErrLineEnd,
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n":           ErrFieldFold,
	} {
		var err error
		if in[0] == 'H' {
			_, _, err = parseResponseInPieces(in, &Limits{}, everyEnd(len(in))...)
		} else {
			_, _, err = parseInPieces(in, &Limits{}, everyEnd(len(in))...)
		}
		if err != want {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
}
