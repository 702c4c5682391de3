package h1

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/race"
)

// requestCase is a head with what comes of it: err, or the summary that
// describeRequest makes.
type requestCase struct {
	name string
	in   string
	want string
	err  error
}

const hostLine = "Host: example.org\r\n"

var requestCases = []requestCase{
	// The request line.
	{"simple", "GET / HTTP/1.1\r\n" + hostLine + "\r\n", "GET / 1.1 len=-2 [Host=example.org]", nil},
	{"empty line before", "\r\nGET / HTTP/1.1\r\n" + hostLine + "\r\n", "GET / 1.1 len=-2 [Host=example.org]", nil},
	{"nine empty lines before", strings.Repeat("\r\n", 9) + "GET / HTTP/1.1\r\n" + hostLine + "\r\n", "GET / 1.1 len=-2 [Host=example.org]", nil},
	{"ten empty lines before", strings.Repeat("\r\n", 10) + "GET / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrLineEnd},
	{"a CR in place of the tenth", strings.Repeat("\r\n", 9) + "\rGET / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrLineEnd},
	{"bare CR before", "\rGET / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrLineEnd},
	{"bare LF before", "\nGET / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrLineEnd},
	{"space before", " GET / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrMethod},
	{"two spaces", "GET  / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"two spaces before version", "GET /  HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrVersionSyntax},
	{"tab between", "GET\t/ HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrMethod},
	{"space after version", "GET / HTTP/1.1 \r\n" + hostLine + "\r\n", "", ErrVersionSyntax},
	{"no version", "GET /\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"no target", "GET HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"LF after target", "GET /\nHTTP/1.1\r\n" + hostLine + "\r\n", "", ErrLineEnd},
	{"LF after version", "GET / HTTP/1.1\n" + hostLine + "\r\n", "", ErrVersionSyntax},
	{"CR CR LF", "GET / HTTP/1.1\r\r\n" + hostLine + "\r\n", "", ErrLineEnd},
	{"TLS", "\x16\x03\x01\x02\x00\x01\x00", "", ErrTLSHello},
	{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", ErrHTTP2Preface},
	{"unusual method", "x!#$%&'*+-.^_`|~9 / HTTP/1.1\r\n" + hostLine + "\r\n", "x!#$%&'*+-.^_`|~9 / 1.1 len=-2 [Host=example.org]", nil},
	{"method with a quote", "G\"T / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrMethod},
	{"method with NUL", "G\x00T / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrMethod},
	{"method of 64", strings.Repeat("M", 64) + " / HTTP/1.1\r\n" + hostLine + "\r\n", strings.Repeat("M", 64) + " / 1.1 len=-2 [Host=example.org]", nil},
	{"method of 65", strings.Repeat("M", 65) + " / HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrMethodTooLong},

	// Versions.
	{"1.0", "GET / HTTP/1.0\r\n\r\n", "GET / 1.0 len=-2 []", nil},
	{"1.2", "GET / HTTP/1.2\r\n" + hostLine + "\r\n", "GET / 1.1 len=-2 [Host=example.org]", nil},
	{"1.9 without Host", "GET / HTTP/1.9\r\n\r\n", "", ErrNoHost},
	{"1.9 with a body", "POST / HTTP/1.9\r\n" + hostLine + "Transfer-Encoding: chunked\r\n\r\n", "POST / 1.1 len=-1 [Host=example.org Transfer-Encoding=chunked]", nil},
	{"9.9", "GET / HTTP/9.9\r\n" + hostLine + "\r\n", "", ErrVersion},
	{"2.0", "GET / HTTP/2.0\r\n" + hostLine + "\r\n", "", ErrVersion},
	{"0.9", "GET / HTTP/0.9\r\n\r\n", "", ErrVersion},
	{"two-digit minor", "GET / HTTP/1.11\r\n" + hostLine + "\r\n", "", ErrVersionSyntax},
	{"no minor", "GET / HTTP/1\r\n" + hostLine + "\r\n", "", ErrVersionSyntax},
	{"lower case", "GET / http/1.1\r\n" + hostLine + "\r\n", "", ErrVersionSyntax},
	{"other protocol", "OPTIONS rtsp://h/ RTSP/1.0\r\n\r\n", "", ErrVersionSyntax},
	{"letter for a digit", "GET / HTTP/d.d\r\n" + hostLine + "\r\n", "", ErrVersionSyntax},

	// Targets.
	{"query", "GET /a?b=c%20&d HTTP/1.1\r\n" + hostLine + "\r\n", "GET /a?b=c%20&d 1.1 len=-2 [Host=example.org]", nil},
	{"unescaped", "GET /\"<>\\^`{|}\xe4\xff HTTP/1.1\r\n" + hostLine + "\r\n", "GET /\"<>\\^`{|}\xe4\xff 1.1 len=-2 [Host=example.org]", nil},
	{"fragment", "GET /a#b HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"control", "GET /a\x01b HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"tab", "GET /a\tb HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"DEL", "GET /aaaaaaaaaaaa\x7fb HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"bare CR", "GET /a\rb HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"no slash", "GET a HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"only a query", "GET ?a HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"absolute", "GET http://a.example:8080/b?c HTTP/1.1\r\n" + hostLine + "\r\n", "GET http://a.example:8080/b?c 1.1 authority=a.example:8080 len=-2 [Host=example.org]", nil},
	{"absolute https", "GET HTTPS://a.example?c HTTP/1.1\r\n" + hostLine + "\r\n", "GET HTTPS://a.example?c 1.1 authority=a.example len=-2 [Host=example.org]", nil},
	{"absolute without path, 1.0", "GET http://[::1] HTTP/1.0\r\n\r\n", "GET http://[::1] 1.0 authority=[::1] len=-2 []", nil},
	{"absolute still wants Host", "GET http://a/ HTTP/1.1\r\n\r\n", "", ErrNoHost},
	{"userinfo", "GET http://u:p@a.example/ HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"no authority", "GET http:///b HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"other scheme", "GET ftp://a/ HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"asterisk", "OPTIONS * HTTP/1.1\r\n" + hostLine + "\r\n", "OPTIONS * 1.1 len=-2 [Host=example.org]", nil},
	{"asterisk for GET", "GET * HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"two asterisks", "OPTIONS ** HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"CONNECT", "CONNECT a.example:443 HTTP/1.1\r\n" + hostLine + "\r\n", "CONNECT a.example:443 1.1 authority=a.example:443 len=-2 [Host=example.org]", nil},
	{"CONNECT without port", "CONNECT a.example HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"CONNECT with empty port", "CONNECT a.example: HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},
	{"CONNECT with a path", "CONNECT / HTTP/1.1\r\n" + hostLine + "\r\n", "CONNECT / 1.1 len=-2 [Host=example.org]", nil},
	{"authority for GET", "GET a.example:443 HTTP/1.1\r\n" + hostLine + "\r\n", "", ErrTarget},

	// Field lines.
	{"no whitespace", "GET / HTTP/1.1\r\nhost:a\r\nX-A:b\r\n\r\n", "GET / 1.1 len=-2 [host=a X-A=b]", nil},
	{"much whitespace", "GET / HTTP/1.1\r\nHOST: \t a \t\r\nX-A: \t\r\nX-B:\r\n\r\n", "GET / 1.1 len=-2 [HOST=a X-A= X-B=]", nil},
	{"inner whitespace", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b \t c: d\r\n\r\n", "GET / 1.1 len=-2 [Host=a X-A=b \t c: d]", nil},
	{"high bytes", "GET / HTTP/1.1\r\nHost: a\r\nX-A: \x80\xff\xff~~~~~~~~\xa0\r\n\r\n", "GET / 1.1 len=-2 [Host=a X-A=\x80\xff\xff~~~~~~~~\xa0]", nil},
	{"order and repetition", "GET / HTTP/1.1\r\nX-A: 1\r\nHost: a\r\nAccept: x\r\nx-a: 2\r\nAccept: y\r\n\r\n", "GET / 1.1 len=-2 [X-A=1 Host=a Accept=x x-a=2 Accept=y]", nil},
	{"odd names", "GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~: 1\r\n0: 2\r\n\r\n", "GET / 1.1 len=-2 [Host=a !#$%&'*+-.^_`|~=1 0=2]", nil},
	{"space before colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "", ErrFieldName},
	{"tab before colon", "GET / HTTP/1.1\r\nHost: a\r\nX\t: a\r\n\r\n", "", ErrFieldName},
	{"space in name", "GET / HTTP/1.1\r\nHost: a\r\nX Y: a\r\n\r\n", "", ErrFieldName},
	{"no name", "GET / HTTP/1.1\r\nHost: a\r\n: a\r\n\r\n", "", ErrFieldName},
	{"no colon", "GET / HTTP/1.1\r\nHost: a\r\nabc\r\n\r\n", "", ErrLineEnd},
	{"high byte in name", "GET / HTTP/1.1\r\nHost: a\r\nX\x80Y: a\r\n\r\n", "", ErrFieldName},
	{"CR in place of a hyphen", "GET / HTTP/1.1\r\nHost: a\r\nContent\rLength: 5\r\n\r\n", "", ErrLineEnd},
	{"DLE in place of a digit", "GET / HTTP/1.1\r\nHost: a\r\nX-Abcdefgh-\x10: 5\r\n\r\n", "", ErrFieldName},
	{"at sign", "GET / HTTP/1.1\r\nHost: a\r\nX-Abcdefgh-@: 5\r\n\r\n", "", ErrFieldName},
	{"bracket", "GET / HTTP/1.1\r\nHost: a\r\nX-Abcdefgh-[: 5\r\n\r\n", "", ErrFieldName},
	{"brace", "GET / HTTP/1.1\r\nHost: a\r\nX-Abcdefgh-{: 5\r\n\r\n", "", ErrFieldName},
	{"fold", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n", "", ErrFieldFold},
	{"first line folded", "GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", "", ErrFieldFold},
	{"bare CR in value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\rX-B: c\r\n\r\n", "", ErrLineEnd},
	{"bare LF after value", "GET / HTTP/1.1\r\nHost: a\nX-B: c\r\n\r\n", "", ErrLineEnd},
	{"bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", "", ErrLineEnd},
	{"bare CR at the end", "GET / HTTP/1.1\r\nHost: a\r\n\rx", "", ErrLineEnd},
	{"CR CR LF after value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\r\r\n\r\n", "", ErrLineEnd},
	{"NUL in value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: b\x00c\r\n\r\n", "", ErrFieldValue},
	{"control in value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: bbbbbbbbbbbbbbbb\x1f\r\n\r\n", "", ErrFieldValue},
	{"DEL in value", "GET / HTTP/1.1\r\nHost: a\r\nX-A: bbbbbb\xff\x7fbbbb\r\n\r\n", "", ErrFieldValue},

	// Host.
	{"no Host", "GET / HTTP/1.1\r\nX-A: b\r\n\r\n", "", ErrNoHost},
	{"two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", "", ErrManyHosts},
	{"two Hosts in 1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", "", ErrManyHosts},
	{"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / 1.1 len=-2 [Host=]", nil},
	{"Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "", ErrHost},

	// Framing.
	{"length", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: 5\r\n\r\nhello", "POST / 1.1 len=5 [Host=example.org Content-Length=5]", nil},
	{"length 0", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: 000\r\n\r\n", "POST / 1.1 len=0 [Host=example.org Content-Length=000]", nil},
	{"greatest length", "POST / HTTP/1.1\r\n" + hostLine + "content-length: 9223372036854775807\r\n\r\n", "POST / 1.1 len=9223372036854775807 [Host=example.org content-length=9223372036854775807]", nil},
	{"too great", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: 9223372036854775808\r\n\r\n", "", ErrBodyTooLong},
	{"wraps to 5", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: 18446744073709551621\r\n\r\n", "", ErrBodyTooLong},
	{"great and wrong", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: 99999999999999999999x\r\n\r\n", "", ErrContentLength},
	{"empty length", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length:\r\n\r\n", "", ErrContentLength},
	{"signed length", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: +5\r\n\r\n", "", ErrContentLength},
	{"length list", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: 5, 5\r\n\r\n", "", ErrContentLength},
	{"type twice", "POST / HTTP/1.1\r\n" + hostLine + "Content-Type: a/b\r\nX: y\r\ncontent-type: c/d\r\nContent-Type: e/f\r\n\r\n",
		"POST / 1.1 len=-2 [Host=example.org Content-Type=a/b X=y]", nil},
	{"length twice", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "", ErrManyLengths},
	{"chunked", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", "POST / 1.1 len=-1 [Host=example.org Transfer-Encoding=Chunked]", nil},
	{"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "", ErrCodingHTTP10},
	{"chunked with length", "POST / HTTP/1.1\r\n" + hostLine + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "", ErrLengthAndCoding},
	{"chunked with bad length", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n", "", ErrLengthAndCoding},
	{"chunked twice", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "", ErrCoding},
	{"chunked list", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked, chunked\r\n\r\n", "", ErrCoding},
	{"other coding", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: gzip, chunked\r\n\r\n", "", ErrCodingUnsupported},
	{"identity", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: identity\r\n\r\n", "", ErrCodingUnsupported},
	{"empty coding", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding:\r\n\r\n", "", ErrCoding},
	{"coding in quotes", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: \"chunked\"\r\n\r\n", "", ErrCoding},
	{"coding with parameter", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked;q=1\r\n\r\n", "", ErrCoding},
	{"coding with NBSP", "POST / HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: \xa0chunked\r\n\r\n", "", ErrCoding},
	{"underscore", "POST / HTTP/1.1\r\n" + hostLine + "Content_Length: 5\r\n\r\n", "POST / 1.1 len=-2 [Host=example.org Content_Length=5]", nil},

	// Connection and Expect.
	{"close", "GET / HTTP/1.1\r\n" + hostLine + "Connection: CLOSE\r\n\r\n", "GET / 1.1 len=-2 conn=1 [Host=example.org Connection=CLOSE]", nil},
	{"list", "GET / HTTP/1.1\r\n" + hostLine + "Connection: x ,\tKeep-Alive ,,close\r\n\r\n", "GET / 1.1 len=-2 conn=11 [Host=example.org Connection=x ,\tKeep-Alive ,,close]", nil},
	{"two lines", "GET / HTTP/1.1\r\n" + hostLine + "Connection: close\r\nConnection: upgrade\r\n\r\n", "GET / 1.1 len=-2 conn=5 [Host=example.org Connection=close Connection=upgrade]", nil},
	{"no close", "GET / HTTP/1.1\r\n" + hostLine + "Connection: closed\r\n\r\n", "GET / 1.1 len=-2 conn=8 [Host=example.org Connection=closed]", nil},
	{"upgrade in 1.0", "GET / HTTP/1.0\r\nConnection: upgrade, keep-alive\r\n\r\n", "GET / 1.0 len=-2 conn=6 [Connection=upgrade, keep-alive]", nil},
	{"100-continue", "POST / HTTP/1.1\r\n" + hostLine + "Expect: 100-Continue\r\nContent-Length: 5\r\n\r\n", "POST / 1.1 len=5 expect=1 [Host=example.org Expect=100-Continue Content-Length=5]", nil},
	{"100-continue in 1.0", "POST / HTTP/1.0\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n", "POST / 1.0 len=5 [Expect=100-Continue Content-Length=5]", nil},
	{"other expectation", "GET / HTTP/1.1\r\n" + hostLine + "Expect: 100-continue\r\nExpect: x\r\n\r\n", "GET / 1.1 len=-2 expect=2 [Host=example.org Expect=100-continue Expect=x]", nil},
}

// describeRequest puts a parsed head into words.
func describeRequest(h *msg.RequestHead) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s 1.%d", h.Part(msg.Method), h.Part(msg.Target), h.Minor)
	if a := h.Part(msg.Authority); len(a) > 0 {
		fmt.Fprintf(&b, " authority=%s", a)
	}
	fmt.Fprintf(&b, " len=%d", h.ContentLength)
	if h.Conn != 0 {
		fmt.Fprintf(&b, " conn=%d", h.Conn)
	}
	if h.Expect != 0 {
		fmt.Fprintf(&b, " expect=%d", h.Expect)
	}
	b.WriteString(" [" + describeFields(&h.Fields) + "]")
	return b.String()
}

func describeFields(f *msg.Fields) string {
	var list []string
	for i := range f.Recs {
		if f.Recs[i].Flags&msg.Dead == 0 {
			list = append(list, fmt.Sprintf("%s=%s", f.RawName(i), f.Value(i)))
		}
	}
	return strings.Join(list, " ")
}

// parseInPieces parses in as it arrives in pieces that end at the given
// offsets and then as a whole.
func parseInPieces(in string, lim *Limits, ends ...int) (*msg.RequestHead, int, error) {
	h := new(msg.RequestHead)
	h.Reset()
	for _, end := range append(ends, len(in)) {
		// The bytes move between calls, and what follows them changes.
		b := append([]byte(in[:end]), "\r\n\r\n: \r\n\x00"...)[:end]
		n, err := ParseRequest(b, h, lim)
		if err == nil {
			mustHold(&h.Fields)
			return h, n, nil
		}
		mustBeFresh(h)
		if n != 0 {
			panic("bytes consumed with an error")
		}
		if err != ErrPartial {
			return h, 0, err
		}
	}
	return h, 0, ErrPartial
}

func everyEnd(n int) (ends []int) {
	for i := range n {
		ends = append(ends, i)
	}
	return ends
}

func TestParseRequest(t *testing.T) {
	for _, tt := range requestCases {
		t.Run(tt.name, func(t *testing.T) {
			check := func(how string, h *msg.RequestHead, n int, err error) {
				t.Helper()
				if !errors.Is(err, tt.err) {
					t.Fatalf("%s: error %v, want %v", how, err, tt.err)
				}
				if err != nil {
					return
				}
				if got := describeRequest(h); got != tt.want {
					t.Fatalf("%s: got  %s\nwant %s", how, got, tt.want)
				}
				empty := len(tt.in) - len(strings.TrimLeft(tt.in, "\r\n"))
				if want := empty + strings.Index(tt.in[empty:], "\r\n\r\n") + 4; n != want {
					t.Fatalf("%s: consumed %d bytes, want %d", how, n, want)
				}
				if raw := string(h.Part(msg.Raw)); !strings.HasSuffix(tt.in[:n], "\r\n"+raw) || !strings.HasSuffix(raw, "\r\n") {
					t.Fatalf("%s: raw block %q", how, raw)
				}
			}
			h, n, err := parseInPieces(tt.in, nil)
			check("whole", h, n, err)
			for i := range tt.in {
				h, n, err = parseInPieces(tt.in, nil, i)
				check(fmt.Sprintf("split at %d", i), h, n, err)
			}
			h, n, err = parseInPieces(tt.in, nil, everyEnd(len(tt.in))...)
			check("byte by byte", h, n, err)
			if tt.err == nil {
				end := n
				for i := range end {
					if _, _, err := parseInPieces(tt.in[:i], nil); err != ErrPartial {
						t.Fatalf("prefix of %d bytes: %v, want ErrPartial", i, err)
					}
				}
			}
		})
	}
}

// An invalid byte is an error as soon as it is there.
func TestParseRequestErrorAtOnce(t *testing.T) {
	for _, in := range []string{
		"\n", "\r\r", "\x16", "G\x00", "GET\t", "GET  ", "GET /\n", "GET /\r", "GET /a\x7f", "GET /#",
		"GET / X", "GET / HTTP/x", "GET / HTTP/1.1\n", "GET / HTTP/1.10", "GET / HTTP/2.0\r", "GET / HTTP/1.1\r\r",
		"GET / HTTP/1.1\r\n ", "GET / HTTP/1.1\r\n:", "GET / HTTP/1.1\r\nA ", "GET / HTTP/1.1\r\nA\r", "GET / HTTP/1.1\r\nA\n",
		"GET / HTTP/1.1\r\nA: b\x00", "GET / HTTP/1.1\r\nA: b\n", "GET / HTTP/1.1\r\nA: b\rc", "GET / HTTP/1.1\r\nA: b\r\n\n",
		"GET / HTTP/1.1\r\nA: b\r\n\rx", "GET a HTTP/1.1\r\n",
	} {
		_, _, err := parseInPieces(in[:len(in)-1], nil)
		if err != ErrPartial {
			t.Errorf("%q is cut off: %v, want ErrPartial", in[:len(in)-1], err)
		}
		if _, _, err := parseInPieces(in, nil); err == nil || err == ErrPartial {
			t.Errorf("%q: %v, want an error", in, err)
		}
	}
}

func TestParseRequestLimits(t *testing.T) {
	target := func(n int) string {
		return "GET /" + strings.Repeat("a", n-1) + " HTTP/1.1\r\nHost: a\r\n\r\n"
	}
	fields := func(n int) string {
		return "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A: b\r\n", n-1) + "\r\n"
	}
	value := func(n int) string {
		head := "GET / HTTP/1.1\r\nHost: a\r\nA: "
		return head + strings.Repeat("a", n-len(head)-4) + "\r\n\r\n"
	}
	small := &Limits{Target: 20, Head: 200, Fields: 5}
	for _, tt := range []struct {
		name string
		in   string
		lim  *Limits
		err  error
	}{
		{"longest target", target(20), small, nil},
		{"target too long", target(21), small, ErrTargetTooLong},
		{"target beyond the head", target(300), &Limits{Target: 1000, Head: 200}, ErrTargetTooLong},
		{"most fields", fields(5), small, nil},
		{"too many fields", fields(6), small, ErrTooManyFields},
		{"longest head", value(200), small, nil},
		{"head too long", value(201), small, ErrHeadTooLong},
		{"longest target by default", target(DefaultTarget), nil, nil},
		{"target too long by default", target(DefaultTarget + 1), nil, ErrTargetTooLong},
		{"most fields by default", fields(DefaultFields), nil, nil},
		{"too many fields by default", fields(DefaultFields + 1), nil, ErrTooManyFields},
		{"longest head by default", value(DefaultHead), nil, nil},
		{"head too long by default", value(DefaultHead + 1), nil, ErrHeadTooLong},
		{"name too long", "GET / HTTP/1.1\r\n" + strings.Repeat("a", 1<<16) + ": b\r\nHost: a\r\n\r\n", &Limits{Head: 1 << 20}, ErrTooManyFields},
	} {
		for _, ends := range [][]int{nil, {len(tt.in) / 2}, {20, 21, 22}} {
			if _, _, err := parseInPieces(tt.in, tt.lim, ends...); !errors.Is(err, tt.err) {
				t.Errorf("%s, cut at %v: %v, want %v", tt.name, ends, err, tt.err)
			}
		}
	}
}

func TestKeepAlive(t *testing.T) {
	for _, tt := range []struct {
		minor uint8
		conn  msg.Conn
		want  bool
	}{
		{1, 0, true},
		{1, msg.ConnClose, false},
		{1, msg.ConnClose | msg.ConnKeepAlive, false},
		{0, 0, false},
		{0, msg.ConnKeepAlive, true},
		{0, msg.ConnClose | msg.ConnKeepAlive, false},
	} {
		var h msg.RequestHead
		h.Minor, h.Conn = tt.minor, tt.conn
		if got := KeepAlive(&h); got != tt.want {
			t.Errorf("1.%d with %b: %v", tt.minor, tt.conn, got)
		}
	}
}

func TestValidHost(t *testing.T) {
	for _, s := range []string{
		"", "a", "A.example", "a:", "a:80", "127.0.0.1:8080", "xn--nxasmq6b.example", "a%c3%A9b", "a_b", "[::]", "[::1]:80", "[1:2:3:4:5:6:7:8]",
		"[1::8]", "[::ffff:1.2.3.4]", "[1:2:3:4:5:6:1.2.3.4]", "[2001:db8::]", "[v1.a:b]", "!$&'()*+;=~",
	} {
		if !ValidHost([]byte(s)) {
			t.Errorf("%q: want valid", s)
		}
	}
	for _, s := range []string{
		":", ":80", "a b", "a/b", "a?b", "a#b", "u@a", "a:b", "a:80:80", "a:-1", "a%", "a%4", "a%zz", "a%4z", "a%cz", "a%41", "a,b", "<a>", "{a}", "a\\b", "http://a/", "\x80", "a\x00",
		"[", "[]", "[::1", "[::1]a", "[::1]:a", "::1", "[:]", "[:::]", "[1]", "[1:2]", "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7::8]", "[1::2::3]",
		"[12345::]", "[1:]", "[:1]", "[g::]", "[::1.2.3]", "[::1.2.3.256]", "[::1.2.3.04]", "[::1.2.3.4.5]", "[1.2.3.4]", "[fe80::1%25eth0]", "[v.a]", "[v1.]", "[v1.@]", "[[::1]]",
	} {
		if ValidHost([]byte(s)) {
			t.Errorf("%q: want invalid", s)
		}
	}
}

// A head that drips in costs no more than its bytes: were each call to look at
// all that came before, this test would take minutes.
func TestParseRequestDrip(t *testing.T) {
	for name, in := range map[string]string{
		"target": "GET /" + strings.Repeat("a", race.Fewer(1<<20)) + " HTTP/1.1\r\nHost: a\r\n\r\n",
		"value":  "GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("a", race.Fewer(1<<20)) + "\r\n\r\n",
		"fields": "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("Abcdefgh-Ijkl: b\r\n", race.Fewer(1<<16-10)) + "\r\n",
	} {
		h := new(msg.RequestHead)
		h.Reset()
		lim := &Limits{Target: 2 << 20, Head: 2 << 20, Fields: 1 << 16}
		b := []byte(in)
		for i := range b {
			if _, err := ParseRequest(b[:i], h, lim); err != ErrPartial {
				t.Fatalf("%s, %d bytes: %v", name, i, err)
			}
		}
		if n, err := ParseRequest(b, h, lim); n != len(b) || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}
