package tunnel

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// proxyAnswers is a proxy that reads a request up to its empty line and answers.
// It returns the client's end of the connection, with a deadline, and the request
// once it was read.
func proxyAnswers(t testing.TB, answer string) (net.Conn, <-chan string) {
	client, server := net.Pipe()
	_ = client.SetDeadline(time.Now().Add(time.Minute))
	request := make(chan string, 1)
	go func() {
		defer server.Close()
		var got []byte
		for b := make([]byte, 1); !bytes.HasSuffix(got, []byte("\r\n\r\n")); {
			if _, err := server.Read(b); err != nil {
				break
			}
			got = append(got, b[0])
		}
		request <- string(got)
		_, _ = io.WriteString(server, answer)
	}()
	t.Cleanup(func() { client.Close() })
	return client, request
}

const ok = "HTTP/1.1 200 OK\r\n\r\n"

func TestRequest(t *testing.T) {
	for _, tt := range []struct{ target, authorization, want string }{
		{"a.example:443", "", "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"},
		{"[::1]:80", "Basic dTpw", "CONNECT [::1]:80 HTTP/1.1\r\nHost: [::1]:80\r\nProxy-Authorization: Basic dTpw\r\n\r\n"},
	} {
		c, request := proxyAnswers(t, ok)
		if _, err := Connect(c, tt.target, tt.authorization); err != nil {
			t.Errorf("%s: %v", tt.target, err)
		}
		if got := <-request; got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// Every answer, however it is cut: whether the tunnel is open, with what status it
// was refused, and what is read from it first.
func TestAnswers(t *testing.T) {
	const interim = "HTTP/1.1 100 Continue\r\n\r\n"
	for _, tt := range []struct {
		name, answer string
		status       int    // of a refusal
		broken       bool   // another error
		rest         string // the first bytes of the tunnel
	}{
		{name: "200", answer: ok},
		{name: "204", answer: "HTTP/1.1 204 No Content\r\n\r\n"},
		{name: "HTTP/1.0", answer: "HTTP/1.0 200 Connection established\r\n\r\n"},
		{name: "a host that speaks first", answer: ok + "220 mail ready\r\n", rest: "220 mail ready\r\n"},
		{name: "no body after success", answer: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", rest: "abcdef"},
		{name: "no coding after success", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", rest: "3\r\nabc\r\n"},
		{name: "both after success", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabcdef", rest: "abcdef"},
		{name: "two lengths after success", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nabcdef", rest: "abcdef"},
		{name: "a bad length after success", answer: "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabcdef", rest: "abcdef"},
		{name: "an unknown coding after success", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: foo\r\n\r\nabcdef", rest: "abcdef"},
		{name: "a coding after success, HTTP/1.0", answer: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nabcdef", rest: "abcdef"},
		{name: "two lengths of a refusal", answer: "HTTP/1.1 407 No\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", broken: true},
		{name: "interim", answer: interim + "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + "x", rest: "x"},
		{name: "large head", answer: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 12<<10) + "\r\n\r\nx", rest: "x"},

		{name: "407", answer: "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno", status: 407},
		{name: "503", answer: "HTTP/1.1 503 Service Unavailable\r\n\r\n", status: 503},
		{name: "redirect", answer: "HTTP/1.1 302 Found\r\nLocation: http://a/\r\n\r\n", status: 302},
		{name: "101", answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\n\r\n", status: 101},
		{name: "interim without end", answer: strings.Repeat(interim, maxInterim+2), status: 100},

		{name: "nothing", answer: "", broken: true},
		{name: "half", answer: "HTTP/1.1 200 OK\r\nA: b\r\n", broken: true},
		{name: "garbage", answer: "SSH-2.0-OpenSSH\r\n", broken: true},
		{name: "bare LF", answer: "HTTP/1.1 200 OK\n\n", broken: true},
		{name: "folded", answer: "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"},
		{name: "folded length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\n", broken: true},
		{name: "space before the colon", answer: "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", broken: true},
		{name: "endless head", answer: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 2*maxHead) + "\r\n\r\n", broken: true},
		{name: "HTTP/2", answer: "\x00\x00\x12\x04\x00\x00\x00\x00\x00", broken: true},
	} {
		for _, r := range map[string]io.Reader{
			"whole": strings.NewReader(tt.answer),
			"bytes": iotest.OneByteReader(strings.NewReader(tt.answer)),
			"EOF":   iotest.DataErrReader(strings.NewReader(tt.answer)),
		} {
			rest, err := readAnswer(r)
			behind, _ := io.ReadAll(r)
			var refused *Refused
			switch {
			case tt.status != 0:
				if !errors.As(err, &refused) || refused.Status != tt.status {
					t.Errorf("%s: got %v, want status %d", tt.name, err, tt.status)
				}
			case tt.broken:
				if err == nil || errors.As(err, &refused) {
					t.Errorf("%s: got %v, want an error", tt.name, err)
				}
			case err != nil:
				t.Errorf("%s: %v", tt.name, err)
			case string(rest)+string(behind) != tt.rest:
				t.Errorf("%s: the tunnel begins with %q, want %q", tt.name, string(rest)+string(behind), tt.rest)
			}
		}
	}
}

// What came with the answer is read first, then the rest.
func TestTunnelIsRead(t *testing.T) {
	c, _ := proxyAnswers(t, ok+"first, then the rest")
	tunnel, err := Connect(c, "a:1", "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(iotest.OneByteReader(tunnel))
	if err != nil || string(got) != "first, then the rest" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := tunnel.Write([]byte("a")); err == nil {
		t.Error("the proxy has gone, and writing works")
	}
}

func TestCheck(t *testing.T) {
	for _, good := range []string{"a:1", "a.example:443", "127.0.0.1:65535", "[::1]:80", "xn--a.example:80", "a_b:8080"} {
		if err := Check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "a", "a:", ":1", "a:0", "a:65536", "a:http", "a:+1", "a:-1", "a: 1", "a b:1", "u@a:1", "a/b:1", "a,b:1", "::1:80",
		"a\r\nX: y:80", "a:80\r\nX: y", "a\n:1", "a\x00:1", "a\t:1", "a?:1", "a#:1", "[::1:80", "[a]:1",
	} {
		if err := Check(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
		c, request := proxyAnswers(t, ok)
		if _, err := Connect(c, bad, ""); err == nil {
			t.Errorf("%q is connected to", bad)
		}
		c.Close()
		if got := <-request; got != "" {
			t.Errorf("%q: the proxy was sent %q", bad, got)
		}
	}
}

// An answer is understood alike however it is cut, and never with more than the
// limit in memory.
func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte(ok + "rest"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 407 No\r\nA: b\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200\r\n\r\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		r := bytes.NewReader(answer)
		rest, err := readAnswer(r)
		behind, _ := io.ReadAll(r)
		slow := bytes.NewReader(answer)
		slowRest, slowErr := readAnswer(iotest.OneByteReader(slow))
		slowBehind, _ := io.ReadAll(slow)
		if (err == nil) != (slowErr == nil) {
			t.Fatalf("at once: %v, byte by byte: %v", err, slowErr)
		}
		if err == nil && string(rest)+string(behind) != string(slowRest)+string(slowBehind) {
			t.Fatalf("at once: %q, byte by byte: %q", string(rest)+string(behind), string(slowRest)+string(slowBehind))
		}
	})
}
