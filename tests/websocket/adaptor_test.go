package websocket

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/gorilla/websocket"
)

// gorillaHandler serves with gorilla/websocket.
func gorillaHandler(ends chan<- ended) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := websocket.Upgrader{EnableCompression: r.URL.Path == "/deflate"}
		c, err := u.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		ends <- ended{r.URL.RawQuery, serveGorilla(r.URL.Path, c)}
	})
}

// serveGorilla serves a connection and returns how it ended.
func serveGorilla(path string, c *websocket.Conn) string {
	var pinged []byte
	c.SetPongHandler(func(string) error {
		return c.WriteMessage(websocket.TextMessage, append([]byte("pong "), pinged...))
	})
	for {
		t, data, err := c.ReadMessage()
		if err != nil {
			var closed *websocket.CloseError
			if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
				return closeText(closed.Code, closed.Text)
			}
			return aborted
		}
		switch path {
		case "/ping":
			pinged = data
			err = c.WriteMessage(websocket.PingMessage, nil)
		case "/close":
			err = c.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(4002, "enough"))
		case "/abort":
			return aborted
		default:
			err = c.WriteMessage(t, data)
		}
		if err != nil {
			return aborted
		}
	}
}

// TestAdaptor proves that handlers for net/http which take over the connection with a library
// go on to work on Gale.
func TestAdaptor(t *testing.T) {
	for _, h := range []struct {
		name    string
		handler func(chan<- ended) http.Handler
	}{{"coder", coderHandler}, {"gws", gwsHandler}, {"gorilla", gorillaHandler}} {
		for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
			t.Run(h.name+" on the "+engine.String()+" engine", func(t *testing.T) {
				check(t, serveAdaptor(t, engine, h.handler), dialGale)
			})
		}
	}
}

// serveAdaptor serves a handler for net/http with Gale.
func serveAdaptor(t *testing.T, engine gale.Engine, h func(chan<- ended) http.Handler) *server {
	t.Helper()
	s := &server{ended: make(chan ended, 100)}
	srv := &gale.Server{Engine: engine, Slog: slog.New(slog.DiscardHandler), Handler: adaptor.NewFastHTTPHandler(h(s.ended))}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.base = "ws://" + ln.Addr().String()
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.ShutdownWithContext(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		_ = ln.Close() // Serve may not have begun yet, and would begin after Shutdown
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}
