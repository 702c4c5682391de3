package ws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
)

// request returns a handshake with some fields replaced. A change is "Name: value", "Name"
// to leave the field out, or "+Name: value" to add a line. One that begins with a slash is
// the whole request line's method and version: "/POST HTTP/1.1".
func request(changes ...string) string {
	first := "GET /chat HTTP/1.1"
	lines := []string{
		"Host: server.test", "Upgrade: websocket", "Connection: Upgrade",
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + goodKey,
	}
	body := ""
	for _, change := range changes {
		if method, ok := strings.CutPrefix(change, "/"); ok {
			m, v, _ := strings.Cut(method, " ")
			first = m + " /chat " + v
			continue
		}
		if b, ok := strings.CutPrefix(change, "body="); ok {
			body = b
			continue
		}
		add := strings.HasPrefix(change, "+")
		change = strings.TrimPrefix(change, "+")
		name, _, hasValue := strings.Cut(change, ":")
		found := false
		for i, line := range lines {
			if !add && strings.HasPrefix(line, name+":") {
				if found = true; hasValue {
					lines[i] = change
				} else {
					lines = append(lines[:i], lines[i+1:]...)
				}
				break
			}
		}
		if !found && hasValue {
			lines = append(lines, change)
		}
	}
	return first + "\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// Each handshake gets the status of RFC 6455 section 4.2, and the fields of the answer.
func TestHandshake(t *testing.T) {
	const accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
	for _, test := range []struct {
		name   string
		in     string
		status int
		want   []string // lines of the head; those that begin with "!" must not be there
	}{
		{"good", request(), 101, []string{accept, "Upgrade: websocket", "Connection: Upgrade", "Set-Cookie: a=b",
			"!Sec-WebSocket-Protocol", "!Sec-WebSocket-Extensions", "!Content-Length", "!Content-Type", "!Transfer-Encoding"}},
		{"lower case", strings.NewReplacer("Upgrade: w", "upgrade: w", "Sec-WebSocket-Key", "sec-websocket-key", "Connection", "connection").Replace(request()), 101, []string{accept}},
		{"upgrade in upper case", request("Upgrade: WebSocket"), 101, nil},
		{"upgrade list", request("Upgrade: h2c, websocket"), 101, nil},
		{"upgrade lines", request("+Upgrade: h2c"), 101, nil},
		{"connection list", request("Connection: keep-alive, Upgrade"), 101, nil},
		{"connection list in lower case", request("Connection: keep-alive,upgrade"), 101, nil},
		{"connection lines", request("Connection: keep-alive", "+Connection: Upgrade"), 101, nil},
		{"length 0", request("Content-Length: 0"), 101, nil},

		{"POST", request("/POST HTTP/1.1", "Content-Length: 0"), 405, []string{"Allow: GET"}},
		{"HEAD", request("/HEAD HTTP/1.1"), 405, nil},
		{"PUT", request("/PUT HTTP/1.1", "Content-Length: 2", "body=ab"), 405, nil},
		{"OPTIONS", request("/OPTIONS HTTP/1.1"), 405, nil},
		{"HTTP/1.0", request("/GET HTTP/1.0"), 400, nil},
		{"no host", request("Host"), 400, nil},
		{"two hosts", request("+Host: other.test"), 400, nil},
		{"plain GET", "GET /chat HTTP/1.1\r\nHost: server.test\r\n\r\n", 426, []string{"Upgrade: websocket", "Sec-WebSocket-Version: 13", "Connection: Upgrade"}},
		{"no upgrade", request("Upgrade"), 426, nil},
		{"other upgrade", request("Upgrade: h2c"), 426, nil},
		{"upgrade with a longer name", request("Upgrade: websockets"), 426, nil},
		{"upgrade with a version", request("Upgrade: websocket/13"), 426, nil},
		{"no connection", request("Connection"), 400, nil},
		{"connection close", request("Connection: close"), 400, nil},
		{"connection with a longer name", request("Connection: Upgrades"), 400, nil},
		{"no version", request("Sec-WebSocket-Version"), 426, []string{"Sec-WebSocket-Version: 13"}},
		{"version 8", request("Sec-WebSocket-Version: 8"), 426, []string{"Sec-WebSocket-Version: 13"}},
		{"version 14", request("Sec-WebSocket-Version: 14"), 426, nil},
		{"version 013", request("Sec-WebSocket-Version: 013"), 426, nil},
		{"version list", request("Sec-WebSocket-Version: 13, 8"), 426, nil},
		{"two versions", request("+Sec-WebSocket-Version: 13"), 426, nil},
		{"no key", request("Sec-WebSocket-Key"), 400, nil},
		{"empty key", request("Sec-WebSocket-Key: "), 400, nil},
		{"two keys", request("+Sec-WebSocket-Key: " + goodKey), 400, nil},
		{"short key", request("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub24="), 400, nil},
		{"long key", request("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZTE="), 400, nil},
		{"key that isn't base64", request("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!=="), 400, nil},
		{"key without padding", request("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ"), 400, nil},
		{"body", request("Content-Length: 2", "body=ab"), 400, nil},
		{"chunked body", request("Transfer-Encoding: chunked", "body=0\r\n\r\n"), 400, nil},
		{"malformed extensions", request("Sec-WebSocket-Extensions: a;;"), 400, nil},
		{"empty list of extensions", request("Sec-WebSocket-Extensions: ,"), 101, nil},
		{"unknown extension", request("Sec-WebSocket-Extensions: bbf-usp-protocol"), 101, []string{"!Sec-WebSocket-Extensions"}},

		{"same origin", request("Origin: http://server.test"), 101, nil},
		{"origin in upper case", request("Origin: HTTP://Server.Test"), 101, nil},
		{"other scheme", request("Origin: https://server.test"), 101, nil},
		{"default port in origin", request("Origin: https://server.test:443"), 101, nil},
		{"default port in host", request("Host: server.test:80", "Origin: http://server.test"), 101, nil},
		{"port", request("Host: server.test:8080", "Origin: http://server.test:8080"), 101, nil},
		{"address", request("Host: [::1]:8080", "Origin: http://[::1]:8080"), 101, nil},
		{"listed", request("Origin: https://listed.test"), 101, nil},
		{"listed with wildcard", request("Origin: https://a.wild.test"), 101, nil},
		{"other origin", request("Origin: http://evil.test"), 403, nil},
		{"other port", request("Origin: http://server.test:81"), 403, nil},
		{"scheme of no web page", request("Origin: app://server.test"), 403, nil},
		{"prefix", request("Origin: http://server.test.evil.test"), 403, nil},
		{"suffix", request("Origin: http://evilserver.test"), 403, nil},
		{"user", request("Origin: http://server.test@evil.test"), 403, nil},
		{"path", request("Origin: http://server.test/"), 403, nil},
		{"null", request("Origin: null"), 403, nil},
		{"empty", request("Origin: "), 403, nil},
		{"two origins", request("Origin: http://server.test", "+Origin: http://server.test"), 403, nil},
		{"listed with another scheme", request("Origin: http://listed.test"), 403, nil},
		{"listed with a port", request("Origin: https://listed.test:444"), 403, nil},
		{"wildcard without a label", request("Origin: https://wild.test"), 403, nil},
		{"wildcard with two labels", request("Origin: https://a.b.wild.test"), 403, nil},
		{"wildcard with an empty label", request("Origin: https://.wild.test"), 403, nil},
		{"wildcard sent", request("Origin: https://*.wild.test"), 403, nil},
		{"not of the wildcard", request("Origin: https://awild.test"), 403, nil},

		{"subprotocol", request("Sec-WebSocket-Protocol: chat"), 101, []string{"Sec-WebSocket-Protocol: chat"}},
		{"preferred subprotocol", request("Sec-WebSocket-Protocol: x, chat ,superchat"), 101, []string{"Sec-WebSocket-Protocol: superchat"}},
		{"subprotocol lines", request("Sec-WebSocket-Protocol: x", "+Sec-WebSocket-Protocol: superchat"), 101, []string{"Sec-WebSocket-Protocol: superchat"}},
		{"unknown subprotocol", request("Sec-WebSocket-Protocol: Chat, x"), 101, []string{"!Sec-WebSocket-Protocol"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := &Options{
				Origins:      []string{"https://listed.test", "https://*.wild.test", "nonsense"},
				Subprotocols: []string{"superchat", "chat", "not a token"},
			}
			s := serveRequests(t, way{gale.EngineEvent, false}, func(ctx *gale.RequestCtx) {
				ctx.Response.Header.Set("Set-Cookie", "a=b")
				ctx.SetBodyString("dropped")
				err := Serve(ctx, Base{}, o)
				if (err == nil) != (ctx.Response.StatusCode() == 101) {
					t.Errorf("status %d, error %v", ctx.Response.StatusCode(), err)
				}
			})
			c := s.connect(t)
			c.send([]byte(test.in))
			c.readHead()
			if want := fmt.Sprintf("HTTP/1.1 %d ", test.status); !strings.HasPrefix(c.head, want) {
				t.Fatalf("got %q, want status %d", c.head, test.status)
			}
			for _, line := range test.want {
				name, not := strings.CutPrefix(line, "!")
				if not == strings.Contains(strings.ToLower(c.head), strings.ToLower(name)) {
					t.Errorf("%q in\n%s", line, c.head)
				}
			}
			if test.status == 101 {
				c.send(closing(StatusNormal, ""))
				c.wantClose(StatusNormal)
			}
			st := o.Stats()
			// The server answers two Host fields by itself.
			if good := test.status == 101; good && st.Accepted != 1 || !good && st.Accepted != 0 || st.Accepted+st.Refused > 1 {
				t.Errorf("stats %+v", st)
			}
		})
	}
}

// CheckOrigin decides instead of Origins, and "*" allows all.
func TestCheckOrigin(t *testing.T) {
	for _, test := range []struct {
		origin string
		o      *Options
		status string
	}{
		{"http://other.test", &Options{Origins: []string{"*"}}, "101"},
		{"null", &Options{Origins: []string{"*"}}, "101"},
		{"http://other.test", &Options{CheckOrigin: func(*gale.RequestCtx) bool { return true }}, "101"},
		{"http://server.test", &Options{Origins: []string{"*"}, CheckOrigin: func(*gale.RequestCtx) bool { return false }}, "403"},
		{"http://other.test", nil, "403"},
	} {
		c := serveSockets(t, way{gale.EngineEvent, false}, Base{}, test.o).connect(t)
		c.send([]byte(request("Origin: " + test.origin)))
		if c.readHead(); !strings.HasPrefix(c.head, "HTTP/1.1 "+test.status) {
			t.Errorf("%+v: %s", test, c.head)
		}
	}
}

// A handler that refuses a client answers as usual, and one that panics is logged.
func TestRefusedByHandler(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		s := serveRequests(t, w, func(ctx *gale.RequestCtx) {
			if len(ctx.Request.Header.Peek("Authorization")) == 0 {
				ctx.Error("unauthorized", gale.StatusUnauthorized)
				return
			}
			if err := Serve(ctx, newEvents(), nil); err != nil {
				t.Error(err)
			}
		})
		c := s.connect(t)
		c.send([]byte(request()))
		if c.readHead(); !strings.HasPrefix(c.head, "HTTP/1.1 401") {
			t.Fatal(c.head)
		}
		c = s.dial(t, "Authorization: yes")
		c.send(message("hello"))
		c.want(wsframe.Text, "hello")
	})
}

// Frames that come with the handshake are read.
func TestEarlyFrames(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		s := serveSockets(t, w, newEvents(), nil)
		c := s.connect(t)
		c.send([]byte(request()), message("one"), message("two"), closing(StatusNormal, ""))
		c.readHead()
		c.want(wsframe.Text, "one")
		c.want(wsframe.Text, "two")
		c.wantClose(StatusNormal)
	})
}
