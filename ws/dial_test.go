package ws

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
	"github.com/galehttp/gale/tests/harness/peers"
)

// scripted starts a server that calls serve with each connection and the head of the request.
// It returns its address.
func scripted(t testing.TB, serve func(nc net.Conn, head string)) string {
	t.Helper()
	return peers.ServeConns(t, func(_ int, nc net.Conn) {
		r, head := bufio.NewReader(nc), ""
		for !strings.HasSuffix(head, "\r\n\r\n") {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			head += line
		}
		serve(nc, head)
	})
}

// field returns the value of a field of a request's head.
func field(head, name string) string {
	for line := range strings.SplitSeq(head, "\r\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(k, name) {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Answers of servers: which open a WebSocket, and what Dial says about the others.
func TestDialAnswers(t *testing.T) {
	checkNoLeaks(t)
	const good = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT\r\n"
	z := &Compression{}
	tests := []struct {
		name, answer string
		o            *DialOptions
		status       int    // of the HandshakeError; 0: none
		err          string // in the error; "" is no error
	}{
		{"good", good, nil, 0, ""},
		{"other case", "HTTP/1.1 101 x\r\nupgrade: WebSocket\r\nconnection: keep-alive, UPGRADE\r\nsec-websocket-accept: ACCEPT\r\n", nil, 0, ""},
		{"after an interim response", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + good, nil, 0, ""},
		{"no Upgrade", strings.Replace(good, "Upgrade: websocket\r\n", "", 1), nil, 101, "Upgrade"},
		{"other protocol", strings.Replace(good, "websocket", "h2c", 1), nil, 101, "Upgrade"},
		{"two protocols", strings.Replace(good, "websocket", "websocket, x", 1), nil, 101, "Upgrade"},
		{"no Connection", strings.Replace(good, "Connection: Upgrade\r\n", "", 1), nil, 101, "Connection"},
		{"other Connection", strings.Replace(good, "Connection: Upgrade", "Connection: close", 1), nil, 101, "Connection"},
		{"no Accept", strings.Replace(good, "Sec-WebSocket-Accept: ACCEPT\r\n", "", 1), nil, 101, "Accept"},
		{"wrong Accept", strings.Replace(good, "ACCEPT", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", 1), nil, 101, "Accept"},
		{"two Accepts", good + "Sec-WebSocket-Accept: x\r\n", nil, 101, "Accept"},
		{"HTTP/1.0", strings.Replace(good, "HTTP/1.1", "HTTP/1.0", 1), nil, 101, "HTTP/1.1"},
		{"subprotocol", good + "Sec-WebSocket-Protocol: b\r\n", &DialOptions{Subprotocols: []string{"a", "b"}}, 0, ""},
		{"no subprotocol", good, &DialOptions{Subprotocols: []string{"a"}}, 0, ""},
		{"unknown subprotocol", good + "Sec-WebSocket-Protocol: c\r\n", &DialOptions{Subprotocols: []string{"a", "b"}}, 101, "subprotocol"},
		{"subprotocol in other case", good + "Sec-WebSocket-Protocol: B\r\n", &DialOptions{Subprotocols: []string{"b"}}, 101, "subprotocol"},
		{"two subprotocols", good + "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n", &DialOptions{Subprotocols: []string{"a", "b"}}, 101, "subprotocol"},
		{"subprotocol not offered", good + "Sec-WebSocket-Protocol: a\r\n", nil, 101, "subprotocol"},
		{"extension not offered", good + "Sec-WebSocket-Extensions: permessage-deflate\r\n", nil, 101, "extension"},
		{"extension", good + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n", &DialOptions{Compression: z}, 0, ""},
		{"unknown extension", good + "Sec-WebSocket-Extensions: x\r\n", &DialOptions{Compression: z}, 101, "extension"},
		{"bad parameter", good + "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99\r\n", &DialOptions{Compression: z}, 101, "extension"},
		{"redirect", "HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1/\r\nContent-Length: 0\r\n", nil, 302, "status 302"},
		{"200", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", nil, 200, "status 200"},
		{"401", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nbody", nil, 401, "Unauthorized"},
		{"large body", "HTTP/1.1 404 Not Found\r\n\r\n" + strings.Repeat("x", 100_000), nil, 404, "404"},
		{"body that is cut", "HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\nbody", nil, 404, "404"},
		{"garbage", "SSH-2.0-OpenSSH\r\n", nil, 0, "answer"},
		{"nothing", "", nil, 0, "EOF"},
		{"head without end", "HTTP/1.1 101 x\r\n" + strings.Repeat("a: b\r\n", 10_000), nil, 0, "answer"},
	}
	for _, tt := range tests {
		addr := scripted(t, func(nc net.Conn, head string) {
			if tt.answer == "" {
				return
			}
			answer := strings.Replace(tt.answer, "ACCEPT", string(wsframe.AppendAccept(nil, []byte(field(head, "Sec-WebSocket-Key")))), 1)
			_, _ = io.WriteString(nc, answer+"\r\n")
			_, _ = nc.Write(wsframe.AppendFrame(nil, wsframe.Text, true, false, []byte("early")))
			_, _ = io.Copy(io.Discard, nc)
		})
		if tt.status >= 200 || tt.err == "EOF" {
			addr = scripted(t, func(nc net.Conn, head string) {
				_, _ = io.WriteString(nc, tt.answer)
				nc.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, nc)
			})
			if tt.name == "redirect" {
				addr = scripted(t, func(nc net.Conn, head string) { _, _ = io.WriteString(nc, tt.answer+"\r\n") })
			}
		}
		c, resp, err := Dial(testContext(t), "ws://"+addr+"/", tt.o)
		if tt.err == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			// What came with the answer belongs to the WebSocket.
			if _, data, err := c.Read(testContext(t)); string(data) != "early" || err != nil {
				t.Errorf("%s: Read: %q, %v", tt.name, data, err)
			}
			_ = c.CloseNow()
			continue
		}
		var he *HandshakeError
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.err)
			continue
		}
		if errors.As(err, &he) != (tt.status != 0) || he != nil && (he.StatusCode != tt.status || resp == nil || resp.StatusCode() != tt.status) {
			t.Errorf("%s: error %v, response %v, want status %d", tt.name, err, resp, tt.status)
		}
		if (tt.name == "401" || tt.name == "body that is cut") && string(resp.Body()) != "body" {
			t.Errorf("%s: body %q", tt.name, resp.Body())
		}
	}
}

// URLs and options that can't be used are errors before anything is dialed.
func TestDialRefuses(t *testing.T) {
	dialed := false
	o := DialOptions{Dial: func(context.Context, string, string) (net.Conn, error) {
		dialed = true
		return nil, errors.New("dialed")
	}}
	for _, u := range []string{"", "http://h/", "ws:///", "ws://", "ws:h", "ws://h/#f", "ws://h#", "//h/", "ws://h:x/", "ws://[::1/", "ws://u:secret@h:x/", "\x00"} {
		_, _, err := Dial(context.Background(), u, &o)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", u, err)
		}
	}
	for _, p := range [][]string{{""}, {"a b"}, {"a", "a"}, {"é"}} {
		o := o
		o.Subprotocols = p
		if _, _, err := Dial(context.Background(), "ws://h/", &o); err == nil {
			t.Errorf("%q: no error", p)
		}
	}
	if dialed {
		t.Error("dialed")
	}
}

// What the request has, and where it is sent.
func TestDialRequest(t *testing.T) {
	jar, _ := cookiejar.New(nil)
	u, _ := url.Parse("http://host.test/")
	jar.SetCookies(u, []*http.Cookie{{Name: "a", Value: "1"}, {Name: "own", Value: "no"}})
	h := new(gale.RequestHeader)
	h.Set("Expect", "100-continue")
	h.Set("X-Own", "x")
	h.SetCookie("own", "2")
	h.Set("Sec-WebSocket-Key", "mine")
	h.Set("Sec-WebSocket-Version", "8")
	h.Set("Connection", "close")
	tests := []struct {
		url  string
		o    DialOptions
		addr string
		want map[string]string // fields; "" is the request line
	}{
		{"ws://host.test", DialOptions{}, "host.test:80", map[string]string{"": "GET / HTTP/1.1", "Host": "host.test", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Origin": "", "Authorization": "", "Sec-WebSocket-Extensions": "", "Content-Length": "", "Content-Type": ""}},
		{"WS://host.test:80/a%2Fb?c=d e", DialOptions{}, "host.test:80", map[string]string{"": "GET /a%2Fb?c=d%20e HTTP/1.1", "Host": "host.test"}},
		{"ws://host.test:8080/?x", DialOptions{Origin: "https://o.test"}, "host.test:8080", map[string]string{"": "GET /?x HTTP/1.1", "Host": "host.test:8080", "Origin": "https://o.test"}},
		{"ws://[::1]/", DialOptions{}, "[::1]:80", map[string]string{"Host": "[::1]"}},
		{"ws://[fe80::1%25lo]:81/", DialOptions{}, "[fe80::1%lo]:81", map[string]string{"Host": "[fe80::1]:81"}},
		{"ws://me:p%40ss@host.test/", DialOptions{}, "host.test:80", map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte("me:p@ss")), "Host": "host.test"}},
		{"ws://host.test/", DialOptions{Header: h, Jar: httpJar{jar}}, "host.test:80", map[string]string{"X-Own": "x", "Cookie": "own=2; a=1", "Expect": "", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}},
		{"ws://host.test/", DialOptions{Subprotocols: []string{"a", "b"}, Compression: &Compression{}}, "host.test:80", map[string]string{"Sec-WebSocket-Protocol": "a, b"}},
	}
	for _, tt := range tests {
		heads := make(chan string, 1)
		addr := scripted(t, func(nc net.Conn, head string) {
			heads <- head
			_, _ = io.WriteString(nc, "HTTP/1.1 403 Forbidden\r\nSet-Cookie: new={\"3\"}\r\nContent-Length: 0\r\n\r\n")
		})
		tt.o.Dial = func(ctx context.Context, network, to string) (net.Conn, error) {
			if to != tt.addr {
				t.Errorf("%s: dialed %s, want %s", tt.url, to, tt.addr)
			}
			return net.Dial("tcp", addr)
		}
		_, _, err := Dial(testContext(t), tt.url, &tt.o)
		if he := (*HandshakeError)(nil); !errors.As(err, &he) || he.StatusCode != 403 {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		head := <-heads
		line, _, _ := strings.Cut(head, "\r\n")
		for name, want := range tt.want {
			got := field(head, name)
			if name == "" {
				got = line
			}
			if got != want {
				t.Errorf("%s: %s: %q, want %q", tt.url, name, got, want)
			}
		}
		if key := field(head, "Sec-WebSocket-Key"); !wsframe.ValidKey([]byte(key)) {
			t.Errorf("%s: key %q", tt.url, key)
		}
	}
	if got := jar.Cookies(u); len(got) != 3 || got[2].Name != "new" || got[2].Value != `{"3"}` {
		t.Errorf("cookies in the jar: %v", got)
	}
}

// httpJar is a jar of net/http for gale.
type httpJar struct{ j http.CookieJar }

func (h httpJar) Cookies(u *gale.URI) (list []*gale.Cookie) {
	to, _ := url.Parse(u.String())
	for _, c := range h.j.Cookies(to) {
		g := new(gale.Cookie)
		g.SetKey(c.Name)
		g.SetValue(c.Value)
		list = append(list, g)
	}
	return list
}

func (h httpJar) SetCookies(u *gale.URI, list []*gale.Cookie) {
	to, _ := url.Parse(u.String())
	for _, g := range list {
		h.j.SetCookies(to, []*http.Cookie{{Name: string(g.Key()), Value: string(g.Value())}})
	}
}

// The context ends each step of Dial.
func TestDialCanceled(t *testing.T) {
	checkNoLeaks(t)
	silent := scripted(t, func(nc net.Conn, head string) { _, _ = io.Copy(io.Discard, nc) })
	half := scripted(t, func(nc net.Conn, head string) {
		_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching")
		_, _ = io.Copy(io.Discard, nc)
	})
	for name, u := range map[string]string{"answer": "ws://" + silent, "half an answer": "ws://" + half, "TLS": "wss://" + silent} {
		for range 20 {
			ctx, cancel := context.WithCancel(context.Background())
			errs := make(chan error, 1)
			go func() {
				_, _, err := Dial(ctx, u, nil)
				errs <- err
			}()
			cancel()
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

// A certificate that isn't known, and a server that speaks another protocol than HTTP/1.1.
func TestDialTLS(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		w.tls = true
		s := serveConns(t, w, echoConn, nil)
		if _, _, err := Dial(testContext(t), s.url(), nil); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Error("Dial:", err)
		}
		c := s.open(t, nil)
		checkEcho(t, c, Text, "over TLS")
	})
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{testCert()}, NextProtos: []string{"foo"}})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, nc); nc.Close() }()
		}
	}()
	o := &DialOptions{TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	if _, _, err := Dial(testContext(t), "wss://"+ln.Addr().String(), o); err == nil {
		t.Error("Dial of a server with another protocol: no error")
	}
}

// Proxies: HTTP with a password, and those that refuse.
func TestDialProxies(t *testing.T) {
	checkNoLeaks(t)
	eachEngine(t, func(t *testing.T, w way) {
		for _, overTLS := range []bool{false, true} {
			w.tls = overTLS
			s := serveConns(t, w, echoConn, nil)
			heads := make(chan string, 2)
			proxy := scripted(t, func(nc net.Conn, head string) {
				heads <- head
				to, err := net.Dial("tcp", s.addr)
				if err != nil {
					return
				}
				defer to.Close()
				_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n")
				go func() { _, _ = io.Copy(to, nc); to.(*net.TCPConn).CloseWrite() }()
				_, _ = io.Copy(nc, to)
			})
			var asked string
			c := s.open(t, &DialOptions{Proxy: func(u *gale.URI) (*url.URL, error) {
				asked = u.String()
				return url.Parse("http://me:pw@" + proxy)
			}})
			checkEcho(t, c, Text, "through a proxy")
			if err := c.Close(StatusNormal, ""); err != nil {
				t.Error("Close:", err)
			}
			head := <-heads
			if !strings.HasPrefix(head, "CONNECT "+s.addr+" HTTP/1.1\r\n") || field(head, "Proxy-Authorization") != "Basic bWU6cHc=" {
				t.Errorf("the proxy got %q", head)
			}
			if want := map[bool]string{false: "http://", true: "https://"}[overTLS] + s.addr + "/"; asked != want {
				t.Errorf("Proxy was called with %s, want %s", asked, want)
			}
		}
	})
	refusing := scripted(t, func(nc net.Conn, head string) {
		_, _ = io.WriteString(nc, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			nc.Close()
		}
	}()
	for _, p := range []string{"http://" + refusing, "ftp://h", "http://", "http://" + ln.Addr().String(), "socks5://" + ln.Addr().String()} {
		o := &DialOptions{Proxy: func(*gale.URI) (*url.URL, error) { return url.Parse(p) }}
		if _, _, err := Dial(testContext(t), "ws://host.test/", o); err == nil {
			t.Errorf("%s: no error", p)
		}
	}
	o := &DialOptions{Proxy: func(*gale.URI) (*url.URL, error) { return nil, errors.New("of Proxy") }}
	if _, _, err := Dial(testContext(t), "ws://host.test/", o); err == nil || err.Error() != "of Proxy" {
		t.Errorf("got error %v", err)
	}
}

// Servers that send garbage, and mask their frames, are closed.
func TestDialGarbage(t *testing.T) {
	checkNoLeaks(t)
	for name, in := range map[string][]byte{
		"masked":  message("a"),
		"garbage": []byte("\xf3\x02ab"),
		"too big": largeHeader(1 << 40)[:10],
	} {
		if name == "too big" {
			in[1] = 127
		}
		got := make(chan []byte, 1)
		addr := scripted(t, func(nc net.Conn, head string) {
			accept := wsframe.AppendAccept(nil, []byte(field(head, "Sec-WebSocket-Key")))
			_, _ = io.WriteString(nc, "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+string(accept)+"\r\n\r\n"+string(in))
			b, _ := io.ReadAll(nc)
			got <- b
		})
		c, _, err := Dial(testContext(t), "ws://"+addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Read(testContext(t))
		want := StatusProtocolError
		if name == "too big" {
			want = StatusTooBig
		}
		wantCloseError(t, err, want, true)
		h, n, _ := wsframe.ParseHeader(<-got)
		if n == 0 || h.Op != wsframe.Close || !h.Masked {
			t.Errorf("%s: the server got %+v", name, h)
		}
	}
}
