package h1

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

var responseCases = []requestCase{
	{"simple", "HTTP/1.1 200 OK\r\nServer: a\r\n\r\n", "1.1 200 OK len=-2 [Server=a]", nil},
	{"no fields", "HTTP/1.0 404 Not Found\r\n\r\n", "1.0 404 Not Found len=-2 []", nil},
	{"empty reason", "HTTP/1.1 204 \r\n\r\n", "1.1 204  len=-2 []", nil},
	{"no reason, no space", "HTTP/1.1 204\r\n\r\n", "1.1 204  len=-2 []", nil},
	{"any reason", "HTTP/1.1 999 \t a\xe4 \r\n\r\n", "1.1 999 \t a\xe4  len=-2 []", nil},
	{"interim", "HTTP/1.1 100 Continue\r\n\r\n", "1.1 100 Continue len=-2 []", nil},
	{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "1.1 200 OK len=5 [Content-Length=5]", nil},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n", "1.1 200 OK len=-1 conn=1 [Transfer-Encoding=chunked Connection=close]", nil},

	{"empty line before", "\r\nHTTP/1.1 200 OK\r\n\r\n", "", ErrVersionSyntax},
	{"version", "HTTP/2.0 200 OK\r\n\r\n", "", ErrVersion},
	{"1.2", "HTTP/1.2 200 OK\r\nServer: a\r\n\r\n", "1.1 200 OK len=-2 [Server=a]", nil},
	{"coding in 1.9", "HTTP/1.9 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1.1 200 OK len=-1 [Transfer-Encoding=chunked]", nil},
	{"version without minor", "HTTP/2 200 OK\r\n\r\n", "", ErrVersionSyntax},
	{"two spaces", "HTTP/1.1  200 OK\r\n\r\n", "", ErrStatusLine},
	{"two digits", "HTTP/1.1 99 OK\r\n\r\n", "", ErrStatusLine},
	{"four digits", "HTTP/1.1 1000 OK\r\n\r\n", "", ErrStatusLine},
	{"leading zero", "HTTP/1.1 099 OK\r\n\r\n", "", ErrStatusLine},
	{"letters", "HTTP/1.1 2x0 OK\r\n\r\n", "", ErrStatusLine},
	{"sign", "HTTP/1.1 -20 OK\r\n\r\n", "", ErrStatusLine},
	{"no status", "HTTP/1.1\r\n\r\n", "", ErrVersionSyntax},
	{"control in reason", "HTTP/1.1 200 a\x00b\r\n\r\n", "", ErrStatusLine},
	{"bare LF", "HTTP/1.1 200 OK\nServer: a\r\n\r\n", "", ErrStatusLine},
	{"bare CR", "HTTP/1.1 200 OK\rServer: a\r\n\r\n", "", ErrLineEnd},
	{"fold", "HTTP/1.1 200 OK\r\nServer: a\r\n b\r\n\r\n", "", ErrFieldFold},
	{"LF in a field", "HTTP/1.1 200 OK\r\nServer: a\nX: b\r\n\r\n", "", ErrLineEnd},
	{"space before colon", "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\n", "", ErrFieldName},
	{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "", ErrManyLengths},
	{"equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", "", ErrManyLengths},
	{"length and coding", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "", ErrLengthAndCoding},
	{"other coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "", ErrCodingUnsupported},
	{"coding in 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "", ErrCodingHTTP10},
}

func parseResponseInPieces(in string, lim *Limits, ends ...int) (*msg.ResponseHead, int, error) {
	h := new(msg.ResponseHead)
	h.Reset()
	for _, end := range append(ends, len(in)) {
		n, err := ParseResponse([]byte(in[:end]), h, lim)
		if err == nil {
			mustHold(&h.Fields)
			return h, n, nil
		}
		mustBeFreshResponse(h)
		if err != ErrPartial {
			return h, n, err
		}
	}
	return h, 0, ErrPartial
}

func describeResponse(h *msg.ResponseHead) string {
	var b strings.Builder
	fmt.Fprintf(&b, "1.%d %d %s len=%d", h.Minor, h.Status, h.Part(msg.Reason), h.ContentLength)
	if h.Conn != 0 {
		fmt.Fprintf(&b, " conn=%d", h.Conn)
	}
	return b.String() + " [" + describeFields(&h.Fields) + "]"
}

func TestParseResponse(t *testing.T) {
	for _, tt := range responseCases {
		t.Run(tt.name, func(t *testing.T) {
			check := func(how string, ends ...int) {
				t.Helper()
				h, n, err := parseResponseInPieces(tt.in, nil, ends...)
				if !errors.Is(err, tt.err) {
					t.Fatalf("%s: error %v, want %v", how, err, tt.err)
				}
				if err != nil {
					return
				}
				if got := describeResponse(h); got != tt.want || n != strings.Index(tt.in, "\r\n\r\n")+4 {
					t.Fatalf("%s: %d bytes\ngot  %s\nwant %s", how, n, got, tt.want)
				}
			}
			check("whole")
			for i := range tt.in {
				check(fmt.Sprintf("split at %d", i), i)
			}
			check("byte by byte", everyEnd(len(tt.in))...)
		})
	}
	if _, _, err := parseResponseInPieces("HTTP/1.1 200 "+strings.Repeat("a", DefaultHead), nil); err != ErrHeadTooLong {
		t.Errorf("endless reason: %v", err)
	}
}
