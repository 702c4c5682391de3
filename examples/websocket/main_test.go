package main

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/await"
)

// wait is how long anything may take before a test gives up.
const wait = time.Minute

// start serves a room on loopback, for both engines.
func start(t *testing.T, engine gale.Engine) (*room, string) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newRoom()
	var s *gale.Server = &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) { handle(r, ctx) },
		Engine:  engine,
	}
	go s.Serve(ln)
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		r.close()
	})
	return r, ln.Addr().String()
}

func dial(t *testing.T, addr string) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.Dial("ws://"+addr+"/chat", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(wait))
	conn.SetWriteDeadline(time.Now().Add(wait))
	return conn
}

func TestChat(t *testing.T) {
	for _, engine := range []gale.Engine{gale.EngineAuto, gale.EngineBlock} {
		r, addr := start(t, engine)
		ada, bob := dial(t, addr), dial(t, addr)
		await.Until(t, "both clients to join", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.clients) == 2
		})
		for _, text := range []string{"hello", strings.Repeat("x", maxMessage)} {
			if err := ada.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
				t.Fatal(err)
			}
			for _, conn := range []*websocket.Conn{ada, bob} {
				if _, got, err := conn.ReadMessage(); err != nil || string(got) != text {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
			}
		}

		// One that breaks a rule has to leave, others stay.
		if err := ada.WriteMessage(websocket.TextMessage, make([]byte, maxMessage+1)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ada.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseMessageTooBig) {
			t.Errorf("after a message that is too large: %v", err)
		}
		if err := bob.WriteMessage(websocket.TextMessage, []byte("alone")); err != nil {
			t.Fatal(err)
		}
		if _, got, err := bob.ReadMessage(); err != nil || string(got) != "alone" {
			t.Errorf("%q, %v", got, err)
		}

		r.close()
		if _, _, err := bob.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("at the end: %v", err)
		}
	}
}

// A page of another host gets no WebSocket, nor does a plain request.
func TestRefused(t *testing.T) {
	_, addr := start(t, gale.EngineAuto)
	_, resp, err := websocket.DefaultDialer.Dial("ws://"+addr+"/chat", http.Header{"Origin": {"https://elsewhere.example"}})
	if !errors.Is(err, websocket.ErrBadHandshake) || resp.StatusCode != http.StatusForbidden {
		t.Errorf("another origin: %v", err)
	}
	for path, want := range map[string]int{"/": 200, "/chat": 400, "/else": 404} {
		resp, err := http.Get("http://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}
