package peers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/gate"
)

// Canaries matches the tokens that the users of TestNothingForeign put into every part of
// their messages: "ua" or "ub" for the user, and a number that no other request has. A
// canary that was cut off counts if it has three digits.
var Canaries = regexp.MustCompile(`(?i)u[ab]x[0-9]{3,7}`)

// Foreign returns the first canary in b that isn't one of own, or "".
func Foreign(b []byte, own ...string) string {
	b = bytes.ToLower(b)
	for at := 0; ; at++ {
		i := bytes.IndexByte(b[at:], 'x')
		if i < 0 {
			return ""
		}
		at += i
		if found := CanaryAround(b, at); found != nil && !OwnedBy(string(found), own) {
			return string(found)
		}
	}
}

// CanaryAround returns the canary in b whose x is at i, or nil. It finds what canaries
// does, in lower case, and much faster.
func CanaryAround(b []byte, i int) []byte {
	end := i + 1
	for end < len(b) && end <= i+7 && '0' <= b[end] && b[end] <= '9' {
		end++
	}
	if i < 2 || b[i-2] != 'u' || b[i-1] != 'a' && b[i-1] != 'b' || end < i+4 {
		return nil
	}
	return b[i-2 : end]
}

func OwnedBy(found string, own []string) bool {
	for _, o := range own {
		if strings.HasPrefix(o, found) {
			return true
		}
	}
	return false
}

// LeakRequests returns how many requests TestNoForeignBytes sends: GALE_LEAK_REQUESTS, by
// default few enough for every test run.
func LeakRequests() int64 {
	if n, err := strconv.ParseInt(os.Getenv("GALE_LEAK_REQUESTS"), 10, 64); err == nil {
		return n
	}
	if race.Enabled {
		return gate.Form[int64](20_000, 5000)
	}
	return gate.Form[int64](100_000, 20_000)
}

// LeakConn sends batches of requests on one connection until it breaks.
func LeakConn(t *testing.T, addr string, sent *atomic.Int64, total int64) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	br := bufio.NewReader(c)
	var out []byte
	for {
		n := int64(1 + gate.Rand.IntN(8))
		base := sent.Add(n) - n
		if base >= total {
			return
		}
		out = out[:0]
		kinds := make([]string, n)
		for i := range n {
			kinds[i] = "/echo"
			switch gate.Rand.IntN(500) {
			case 0:
				kinds[i] = "/panic"
			case 1:
				kinds[i] = "/abort"
			case 2:
				kinds[i] = "/timeout"
			case 3, 4, 5, 6, 7, 8, 9:
				kinds[i] = "/stream"
			}
			tok := Token(base + i)
			body := strings.Repeat(tok, 1+int(base+i)%5)
			out = fmt.Appendf(out, "POST %s?token=%s HTTP/1.1\r\nHost: h\r\nX-Token: %s\r\nCookie: a=b; token=%s\r\nContent-Length: %d\r\n\r\n%s",
				kinds[i], tok, tok, tok, len(body), body)
		}
		if gate.Rand.IntN(100) == 0 { // leave in the middle of a request
			c.Write(out[:gate.Rand.IntN(len(out))])
			return
		}
		if _, err := c.Write(out); err != nil {
			return
		}
		for i := range n {
			tok := Token(base + i)
			body := strings.Repeat(tok, 1+int(base+i)%5)
			status, closes, header, got, err := ReadAnswer(br)
			if err != nil {
				if kinds[i] != "/abort" {
					t.Errorf("%s: %v", kinds[i], err)
				}
				return
			}
			want := tok + " " + tok + " " + tok + " " + body
			switch {
			case kinds[i] == "/stream":
				want = body
			case status == 500 && kinds[i] == "/panic":
				want = "Internal Server Error"
			case status == 408 && kinds[i] == "/timeout":
				want = "timeout"
			}
			if string(got) != want {
				t.Errorf("%s with token %s: status %d, body %q, want %q", kinds[i], tok, status, got, want)
				return
			}
			if j := bytes.Index(header, []byte("X-Token: ")); j >= 0 && !bytes.HasPrefix(header[j+9:], []byte(tok)) {
				t.Errorf("token %s got the header %q", tok, header)
				return
			}
			if closes {
				return
			}
		}
	}
}

func Token(n int64) string { return fmt.Sprintf("tok%012d", n) }

var ErrAnswer = errors.New("malformed answer")

// ReadAnswer reads a response: light enough for a million of them.
func ReadAnswer(br *bufio.Reader) (status int, closes bool, header, body []byte, err error) {
	length, chunked := 0, false
	for first := true; ; first = false {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return 0, false, nil, nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if first {
			if len(line) < 12 {
				return 0, false, nil, nil, ErrAnswer
			}
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, false, nil, nil, ErrAnswer
			}
		}
		if len(line) == 0 {
			break
		}
		header = append(append(header, line...), '\n')
		name, value, _ := strings.Cut(string(line), ": ")
		switch name {
		case "Content-Length":
			length, _ = strconv.Atoi(value)
		case "Transfer-Encoding":
			chunked = true
		case "Connection":
			closes = value == "close"
		}
	}
	for chunked {
		line, err := br.ReadString('\n')
		if err != nil {
			return 0, false, nil, nil, err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return 0, false, nil, nil, ErrAnswer
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(br, b); err != nil {
			return 0, false, nil, nil, err
		}
		body = append(body, b[:n]...)
		if n == 0 {
			return status, closes, header, body, nil
		}
	}
	body = make([]byte, length)
	_, err = io.ReadFull(br, body)
	return status, closes, header, body, err
}

// OpenFiles returns how many descriptors the process has open, 0 if the system can't
// tell.
func OpenFiles() int {
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(es)
}

// GuardedRequests returns how many requests the tests of a silent guard send.
func GuardedRequests() int64 {
	if os.Getenv("GALE_LEAK_REQUESTS") != "" {
		return LeakRequests()
	}
	return LeakRequests() / 20
}

// WantGuarded checks that g has guarded most of total requests, and holds little memory.
func WantGuarded(t *testing.T, g *lifetime.Guard, total int64) {
	t.Helper()
	n := g.Stats()
	t.Logf("%+v", n)
	if n.Guarded < total*3/4 || n.Held > 64<<20 && n.Unpaged == 0 { // some clients leave early
		t.Errorf("of %d requests, the guard has %+v", total, n)
	}
}
