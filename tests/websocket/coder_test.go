package websocket

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// coderClient is a WebSocket of coder/websocket.
type coderClient struct {
	c       *websocket.Conn
	deflate bool
}

func dialCoder(url string, config *tls.Config, deflate bool) (client, error) {
	o := &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}
	if deflate {
		o.CompressionMode = websocket.CompressionContextTakeover
	}
	ctx, cancel := withTimeout()
	defer cancel()
	c, resp, err := websocket.Dial(ctx, url, o)
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(-1)
	return &coderClient{c, offersDeflate(resp.Header)}, nil
}

// offersDeflate reports whether a response has permessage-deflate.
func offersDeflate(h http.Header) bool {
	return strings.HasPrefix(h.Get("Sec-WebSocket-Extensions"), "permessage-deflate")
}

func (c *coderClient) send(binary bool, data []byte) error {
	t := websocket.MessageText
	if binary {
		t = websocket.MessageBinary
	}
	ctx, cancel := withTimeout()
	defer cancel()
	return c.c.Write(ctx, t, data)
}

func (c *coderClient) receive() (binary bool, data []byte, err error) {
	ctx, cancel := withTimeout()
	defer cancel()
	t, data, err := c.c.Read(ctx)
	return t == websocket.MessageBinary, data, err
}

// ping needs a goroutine that reads. The server's echo ends it.
func (c *coderClient) ping() error {
	read := make(chan error, 1)
	go func() {
		_, data, err := c.receive()
		if err == nil && string(data) != "ping" {
			err = errors.New("another message came")
		}
		read <- err
	}()
	ctx, cancel := withTimeout()
	defer cancel()
	if err := c.c.Ping(ctx); err != nil {
		return err
	}
	if err := c.send(false, []byte("ping")); err != nil {
		return err
	}
	return <-read
}

func (c *coderClient) close(code int, reason string) error {
	return c.c.Close(websocket.StatusCode(code), reason)
}
func (c *coderClient) abort()                  { _ = c.c.CloseNow() }
func (c *coderClient) status(err error) string { return coderStatus(err) }
func (c *coderClient) compressed() bool        { return c.deflate }

// coderStatus tells an end as coder/websocket sees it.
func coderStatus(err error) string {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return closeText(int(closed.Code), closed.Reason)
	}
	return aborted
}

// coderHandler serves with coder/websocket.
func coderHandler(ends chan<- ended) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := &websocket.AcceptOptions{}
		if r.URL.Path == "/deflate" {
			o.CompressionMode = websocket.CompressionContextTakeover
		}
		c, err := websocket.Accept(w, r, o)
		if err != nil {
			return
		}
		c.SetReadLimit(-1)
		ends <- ended{r.URL.RawQuery, serveCoder(r.URL.Path, &coderClient{c: c})}
	})
}

// serveCoder serves a connection and returns how it ended.
func serveCoder(path string, c *coderClient) string {
	defer c.abort()
	for {
		binary, data, err := c.receive()
		if err != nil {
			return coderStatus(err)
		}
		switch path {
		case "/ping":
			got := make(chan string, 1)
			go func() { // Ping needs a goroutine that reads
				_, _, err := c.receive()
				got <- coderStatus(err)
			}()
			ctx, cancel := withTimeout()
			err := c.c.Ping(ctx)
			cancel()
			if err == nil {
				err = c.send(false, append([]byte("pong "), data...))
			}
			if err != nil {
				c.abort()
			}
			return <-got
		case "/close":
			_ = c.close(4002, "enough")
			return closeText(4002, "enough")
		case "/abort":
			c.abort()
			return aborted
		default:
			if c.send(binary, data) != nil {
				return aborted
			}
		}
	}
}

// serveNetHTTP serves h with net/http.
func serveNetHTTP(t *testing.T, overTLS bool, h func(ends chan<- ended) http.Handler) *server {
	s := &server{ended: make(chan ended, 100)}
	srv := httptest.NewUnstartedServer(h(s.ended))
	if overTLS {
		srv.StartTLS()
		s.tls = srv.Client().Transport.(*http.Transport).TLSClientConfig
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	s.base = "ws" + strings.TrimPrefix(srv.URL, "http")
	return s
}

// TestCoderClient proves that coder/websocket's client and our servers understand each other.
func TestCoderClient(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.String(), func(t *testing.T) { check(t, serveGale(t, v), dialCoder) })
	}
}

// TestCoderServer proves that our client and coder/websocket's server understand each other.
func TestCoderServer(t *testing.T) {
	for name, overTLS := range map[string]bool{"clear": false, "TLS": true} {
		t.Run(name, func(t *testing.T) { check(t, serveNetHTTP(t, overTLS, coderHandler), dialGale) })
	}
}
