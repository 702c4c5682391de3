package gale

import (
	"io"
	"net"
	"testing"
	"time"
)

// piecesConn is a server that has sent its answer already, in pieces, and closed.
type piecesConn struct {
	data  []byte
	piece int
}

func (c *piecesConn) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.piece)], c.data)
	c.data = c.data[n:]
	return n, nil
}

func (c *piecesConn) Write(p []byte) (int, error)      { return len(p), nil }
func (c *piecesConn) Close() error                     { return nil }
func (c *piecesConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *piecesConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *piecesConn) SetDeadline(time.Time) error      { return nil }
func (c *piecesConn) SetReadDeadline(time.Time) error  { return nil }
func (c *piecesConn) SetWriteDeadline(time.Time) error { return nil }

// FuzzClientResponse gives a client any bytes as an answer. The result is the same
// however they are cut into pieces, and whether or not the body is streamed.
func FuzzClientResponse(f *testing.F) {
	for _, s := range []string{
		okAnswer("good"),
		"HTTP/1.1 100 Continue\r\n\r\n" + okAnswer("good"),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 200 OK\r\n\r\nuntil the end",
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ngood",
	} {
		f.Add([]byte(s), uint8(3), false)
		f.Add([]byte(s), uint8(1), true)
	}
	type outcome struct {
		ok, kept bool
		status   int
		body     string
	}
	get := func(data []byte, piece int, head, stream bool) (o outcome) {
		c := &HostClient{Addr: "example.com", StreamResponseBody: stream, MaxResponseBodySize: 1 << 20, Dial: func(string) (net.Conn, error) {
			return &piecesConn{data, piece}, nil
		}}
		method := "GET"
		if head {
			method = "HEAD"
		}
		resp, err := getFrom(c, method, "http://example.com/")
		if err != nil {
			return o
		}
		body := resp.bodyBytes()
		if resp.IsBodyStream() {
			if body, err = io.ReadAll(resp.BodyStream()); err != nil {
				return o
			}
			resp.CloseBodyStream()
		}
		o = outcome{true, c.IdleConnsCount() == 1, resp.StatusCode(), string(body)}
		if c.ConnsCount() != c.IdleConnsCount() {
			panic("a connection is lost")
		}
		c.CloseIdleConnections()
		return o
	}
	f.Fuzz(func(t *testing.T, data []byte, piece uint8, head bool) {
		whole := get(data, len(data)+1, head, false)
		cut := get(data, int(piece)+1, head, false)
		streamed := get(data, int(piece)+1, head, true)
		// Bytes after a response may not have arrived when it ends. So the pieces decide
		// whether the connection is kept; such bytes are noticed later.
		if whole.kept && !(cut.kept && streamed.kept) {
			t.Errorf("kept in one piece only: %+v, %+v, %+v", whole, cut, streamed)
		}
		whole.kept, cut.kept, streamed.kept = false, false, false
		if whole != cut || whole != streamed {
			t.Errorf("in one piece %+v, in pieces %+v, streamed %+v", whole, cut, streamed)
		}
	})
}
