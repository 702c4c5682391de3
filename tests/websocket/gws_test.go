package websocket

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/lxzan/gws"
)

// gwsClient is a WebSocket of gws, whose callbacks it turns into calls.
type gwsClient struct {
	c       *gws.Conn
	deflate bool
	in      chan gwsMessage
	pongs   chan struct{}
	err     error // when in is closed
}

type gwsMessage struct {
	binary bool
	data   []byte
}

func (c *gwsClient) OnOpen(*gws.Conn) {}
func (c *gwsClient) OnClose(_ *gws.Conn, err error) {
	c.err = err
	close(c.in)
}
func (c *gwsClient) OnPing(s *gws.Conn, data []byte) { _ = s.WritePong(data) }
func (c *gwsClient) OnPong(*gws.Conn, []byte)        { c.pongs <- struct{}{} }
func (c *gwsClient) OnMessage(_ *gws.Conn, m *gws.Message) {
	c.in <- gwsMessage{m.Opcode == gws.OpcodeBinary, slices.Clone(m.Bytes())}
	_ = m.Close()
}

var gwsDeflate = gws.PermessageDeflate{Enabled: true, ServerContextTakeover: true, ClientContextTakeover: true, ServerMaxWindowBits: 15, ClientMaxWindowBits: 15}

func dialGws(url string, config *tls.Config, deflate bool) (client, error) {
	c := &gwsClient{in: make(chan gwsMessage, 10), pongs: make(chan struct{}, 10)}
	o := &gws.ClientOption{Addr: url, TlsConfig: config, ReadMaxPayloadSize: maxMessage, WriteMaxPayloadSize: maxMessage, CheckUtf8Enabled: true}
	if deflate {
		o.PermessageDeflate = gwsDeflate
	}
	conn, resp, err := gws.NewClient(c, o)
	if err != nil {
		return nil, err
	}
	c.c, c.deflate = conn, offersDeflate(resp.Header)
	go conn.ReadLoop()
	return c, nil
}

func (c *gwsClient) send(binary bool, data []byte) error {
	op := gws.OpcodeText
	if binary {
		op = gws.OpcodeBinary
	}
	return c.c.WriteMessage(op, data)
}

func (c *gwsClient) receive() (binary bool, data []byte, err error) {
	select {
	case m, ok := <-c.in:
		if !ok {
			return false, nil, c.err
		}
		return m.binary, m.data, nil
	case <-time.After(patience):
		return false, nil, errors.New("nothing arrives")
	}
}

func (c *gwsClient) ping() error {
	if err := c.c.WritePing([]byte("hello")); err != nil {
		return err
	}
	select {
	case <-c.pongs:
		return nil
	case <-time.After(patience):
		return errors.New("no pong arrives")
	}
}

func (c *gwsClient) close(code int, reason string) error {
	return c.c.WriteClose(uint16(code), []byte(reason))
}
func (c *gwsClient) abort()                  { _ = c.c.NetConn().Close() }
func (c *gwsClient) status(err error) string { return gwsStatus(err) }
func (c *gwsClient) compressed() bool        { return c.deflate }

// gwsStatus tells an end as gws sees it.
func gwsStatus(err error) string {
	var closed *gws.CloseError
	if errors.As(err, &closed) {
		return closeText(int(closed.Code), string(closed.Reason))
	}
	return aborted
}

// gwsHandler serves with gws.
func gwsHandler(ends chan<- ended) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := &gws.ServerOption{ReadMaxPayloadSize: maxMessage, WriteMaxPayloadSize: maxMessage, CheckUtf8Enabled: true}
		if r.URL.Path == "/deflate" {
			o.PermessageDeflate = gwsDeflate
		}
		c, err := gws.NewUpgrader(&gwsPeer{path: r.URL.Path, id: r.URL.RawQuery, ends: ends}, o).Upgrade(w, r)
		if err == nil {
			go c.ReadLoop()
		}
	})
}

// gwsPeer is the server's side of a connection.
type gwsPeer struct {
	gws.BuiltinEventHandler
	path, id string
	ends     chan<- ended
	message  []byte
	closed   string // the end that this side has begun, of which OnClose knows nothing
}

func (p *gwsPeer) OnPing(s *gws.Conn, data []byte) { _ = s.WritePong(data) }
func (p *gwsPeer) OnPong(s *gws.Conn, _ []byte) {
	_ = s.WriteMessage(gws.OpcodeText, append([]byte("pong "), p.message...))
}
func (p *gwsPeer) OnClose(_ *gws.Conn, err error) {
	p.ends <- ended{p.id, cmp.Or(p.closed, gwsStatus(err))}
}
func (p *gwsPeer) OnMessage(s *gws.Conn, m *gws.Message) {
	defer m.Close()
	switch p.path {
	case "/ping":
		p.message = slices.Clone(m.Bytes())
		_ = s.WritePing(nil)
	case "/close":
		p.closed = closeText(4002, "enough")
		_ = s.WriteClose(4002, []byte("enough"))
	case "/abort":
		_ = s.NetConn().Close()
	default:
		_ = s.WriteMessage(m.Opcode, m.Bytes())
	}
}

// TestGwsClient proves that gws's client and our servers understand each other.
func TestGwsClient(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.String(), func(t *testing.T) { check(t, serveGale(t, v), dialGws) })
	}
}

// TestGwsServer proves that our client and gws's server understand each other.
func TestGwsServer(t *testing.T) {
	for name, overTLS := range map[string]bool{"clear": false, "TLS": true} {
		t.Run(name, func(t *testing.T) { check(t, serveNetHTTP(t, overTLS, gwsHandler), dialGale) })
	}
}
