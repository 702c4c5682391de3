package client

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestClientMalformed sends answers that two recipients could read differently, or that
// end early, or that don't end. Each must lead to an error or close the connection: the
// bytes after it must never become the answer to another request.
func TestClientMalformed(t *testing.T) {
	const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	cases := []struct {
		name   string
		method string
		answer string
		ok     bool   // the answer itself is good
		body   string // then its body
		keeps  bool   // the connection is used again
	}{
		{"plain", "GET", peers.OkAnswer("good"), true, "good", true},
		{"length and coding", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + evil, false, "", false},
		{"two lengths", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", false, "", false},
		{"the same length twice", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", false, "", false},
		{"negative length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false, "", false},
		{"signed length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: +4\r\n\r\ngood", false, "", false},
		{"endless length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", false, "", false},
		{"unknown coding", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", false, "", false},
		{"coding in 1.0", "GET", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, "", false},
		{"bytes behind the body", "GET", peers.OkAnswer("good") + evil, true, "good", false},
		{"bytes behind a chunked body", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n" + evil, true, "good", false},
		{"HEAD with a body", "HEAD", peers.OkAnswer(evil), true, "", false},
		{"204 with a length and a body", "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nevil", true, "", false},
		{"204 with a chunked body", "GET", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", true, "", false},
		{"204 with a body", "GET", "HTTP/1.1 204 No Content\r\n\r\n" + evil, true, "", false},
		{"304 with a body", "GET", "HTTP/1.1 304 Not Modified\r\n\r\n" + evil, true, "", false},
		{"304 with a length", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", true, "", true},
		{"101", "GET", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", true, "", false},
		{"body cut off", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", false, "", false},
		{"chunk cut off", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\nabc", false, "", false},
		{"no last chunk", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false, "", false},
		{"no end of trailers", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n", false, "", false},
		{"bad chunk size", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n", false, "", false},
		{"chunk longer than its size", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", false, "", false},
		{"length as a trailer", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n", false, "", false},
		{"endless chunk extension", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=" + strings.Repeat("x", 1<<20), false, "", false},
		{"head cut off", "GET", "HTTP/1.1 200 OK\r\nContent-Le", false, "", false},
		{"bare LF", "GET", "HTTP/1.1 200 OK\nContent-Length: 4\n\ngood", false, "", false},
		{"bare LF in a field", "GET", "HTTP/1.1 200 OK\r\nX: a\nContent-Length: 4\r\n\r\ngood", false, "", false},
		{"folded length", "GET", "HTTP/1.1 200 OK\r\nContent-Length:\r\n 4\r\n\r\ngood", false, "", false},
		{"folded coding", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n \r\n\r\n0\r\n\r\n", false, "", false},
		{"folded Host", "GET", "HTTP/1.1 200 OK\r\nHost: a\r\n b\r\nContent-Length: 4\r\n\r\ngood", false, "", false},
		{"first line folded", "GET", "HTTP/1.1 200 OK\r\n X: a\r\nContent-Length: 4\r\n\r\ngood", false, "", false},
		{"fold after a bare LF", "GET", "HTTP/1.1 200 OK\r\nX: a\n b\r\nContent-Length: 4\r\n\r\ngood", false, "", false},
		{"fold with a bare LF", "GET", "HTTP/1.1 200 OK\r\nX: a\r\n b\nContent-Length: 4\r\n\r\ngood", false, "", false},
		{"space before the colon", "GET", "HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\ngood", false, "", false},
		{"NUL in a field", "GET", "HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 4\r\n\r\ngood", false, "", false},
		{"HTTP/0.9", "GET", "good", false, "", false},
		{"HTTP/2.0", "GET", "HTTP/2.0 200 OK\r\nContent-Length: 4\r\n\r\ngood", false, "", false},
		{"no status", "GET", "HTTP/1.1 OK\r\n\r\n", false, "", false},
		{"empty lines first", "GET", "\r\n\r\n" + peers.OkAnswer("good"), false, "", false},
		{"endless head", "GET", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 10_000), false, "", false},
		{"endless field", "GET", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 10<<20), false, "", false},
		{"1xx without end", "GET", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 200) + peers.OkAnswer("good"), false, "", false},
		{"some 1xx", "GET", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", 50) + peers.OkAnswer("good"), true, "good", true},
		{"1xx with a length", "GET", "HTTP/1.1 103 Early Hints\r\nContent-Length: 4\r\n\r\n" + peers.OkAnswer("good"), true, "good", true},
		{"Connection: close", "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ngood", true, "good", false},
		{"HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\ngood", true, "good", false},
		{"HTTP/1.0 keep-alive", "GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\ngood", true, "good", true},
		{"until the end", "GET", "HTTP/1.1 200 OK\r\n\r\ngood", true, "good", false},
	}
	for _, tc := range cases {
		for _, stream := range []bool{false, true} {
			name := tc.name
			if stream {
				name += ", streamed"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
					for first := nth == 1; p.Request() != nil; first = false {
						if !first {
							p.Say("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond")
							continue
						}
						p.Say(tc.answer)
						if !tc.keeps {
							p.Conn.(interface{ CloseWrite() error }).CloseWrite()
							p.Hold()
							return
						}
					}
				})
				c := &gale.HostClient{Addr: s.Addr(), MaxIdemponentCallAttempts: 1, ReadTimeout: time.Minute, StreamResponseBody: stream}
				defer c.CloseIdleConnections()
				resp, err := harness.GetFrom(c, tc.method, s.URL())
				var body []byte
				if err == nil && resp.IsBodyStream() {
					body, err = io.ReadAll(resp.BodyStream())
					resp.CloseBodyStream()
				} else if err == nil {
					body = resp.Body()
				}
				if tc.ok != (err == nil) || tc.ok && string(body) != tc.body {
					t.Fatalf("%q, %v, want %q, success: %v", body, err, tc.body, tc.ok)
				}
				if c.ConnsCount() != btoi(tc.keeps) {
					t.Errorf("%d connections, want the connection kept: %v", c.ConnsCount(), tc.keeps)
				}
				resp, err = harness.GetFrom(c, "GET", s.URL())
				if err != nil || string(resp.Body()) != "second" {
					t.Errorf("the next request got %q, %v", resp.Body(), err)
				}
			})
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestClientLimits proves that the sizes of what is read are limited, with typed errors.
func TestClientLimits(t *testing.T) {
	var small *gale.ErrSmallBuffer
	for _, tc := range []struct {
		name, answer string
		c            *gale.HostClient
		check        func(error) bool
	}{
		{"length", peers.OkAnswer("12345678901"), &gale.HostClient{MaxResponseBodySize: 10}, func(err error) bool { return err == gale.ErrBodyTooLarge }},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nB\r\n12345678901\r\n0\r\n\r\n", &gale.HostClient{MaxResponseBodySize: 10}, func(err error) bool { return err == gale.ErrBodyTooLarge }},
		{"until the end", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n12345678901", &gale.HostClient{MaxResponseBodySize: 10}, func(err error) bool { return err == gale.ErrBodyTooLarge }},
		{"default", "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n", &gale.HostClient{}, func(err error) bool { return err == gale.ErrBodyTooLarge }},
		{"at the limit", peers.OkAnswer("1234567890"), &gale.HostClient{MaxResponseBodySize: 10}, func(err error) bool { return err == nil }},
		{"head", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 1000) + "\r\nContent-Length: 0\r\n\r\n", &gale.HostClient{ReadBufferSize: 1000}, func(err error) bool { return errors.As(err, &small) }},
		{"head of 60 KiB", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 60<<10) + "\r\nContent-Length: 0\r\n\r\n", &gale.HostClient{}, func(err error) bool { return err == nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
				for p.Request() != nil {
					p.Say(tc.answer)
					if strings.Contains(tc.answer, "close") {
						return
					}
				}
			})
			c := tc.c
			c.Addr = s.Addr()
			defer c.CloseIdleConnections()
			if _, err := harness.GetFrom(c, "GET", s.URL()); !tc.check(err) {
				t.Errorf("error %v", err)
			}
			if s.Requests.Load() != 1 {
				t.Errorf("%d requests were sent", s.Requests.Load())
			}
		})
	}
}
