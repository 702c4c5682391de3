// Package tunnel asks HTTP proxies for tunnels: the client's side of the CONNECT
// method (RFC 9110 section 9.3.6).
package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

const (
	// maxHead is the maximum size in bytes of an answer's head.
	maxHead = 16 << 10
	// maxInterim is how many informational answers may come before the final one.
	maxInterim = 8
)

// Refused is the error for a proxy that answers with a status other than 2xx.
type Refused struct {
	Status int // the status code of its answer
}

// Error says which status the proxy answered.
func (e *Refused) Error() string {
	return "the proxy refuses the tunnel: status code " + strconv.Itoa(e.Status)
}

// Connect asks the proxy on c for a tunnel to target, a host and a port.
// authorization is the value of Proxy-Authorization, or empty.
//
// The connection that it returns is the tunnel. It is c, unless bytes from the
// other end of the tunnel have come with the answer; then it is a connection that
// returns these bytes first. After an error the caller must close c. Errors don't
// contain the authorization. It blocks as long as the deadlines of c allow.
func Connect(c net.Conn, target, authorization string) (net.Conn, error) {
	if err := Check(target); err != nil {
		return nil, err
	}
	if _, err := c.Write(appendRequest(nil, target, authorization)); err != nil {
		return nil, err
	}
	rest, err := readAnswer(c)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return c, nil
	}
	return &conn{Conn: c, unread: rest}, nil
}

// Check returns an error if target isn't a host and a port in the form of CONNECT
// (RFC 9112 section 3.2.3).
func Check(target string) error {
	if strings.ContainsAny(target, "\r\n") {
		return fmt.Errorf("proxy dial target address contains cr or lf: %q", target)
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return &net.AddrError{Err: "the port must be a number from 1 to 65535", Addr: target}
	}
	if host == "" || !h1.ValidHost([]byte(target)) {
		return &net.AddrError{Err: "the host is invalid", Addr: target}
	}
	return nil
}

func appendRequest(dst []byte, target, authorization string) []byte {
	dst = append(dst, "CONNECT "...)
	dst = append(dst, target...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, target...)
	if authorization != "" {
		dst = append(dst, "\r\nProxy-Authorization: "...)
		dst = append(dst, authorization...)
	}
	return append(dst, "\r\n\r\n"...)
}

// readAnswer reads until the end of the final answer's head, and returns the bytes
// after it. A successful answer has no body, whatever its headers say.
func readAnswer(r io.Reader) (rest []byte, err error) {
	buf := make([]byte, 0, 1<<10)
	var h msg.ResponseHead
	for interim := 0; ; {
		n, err := h1.ParseResponse(buf, &h, &h1.Limits{Dialect: h1.Folding, Head: maxHead, Tunnel: true})
		switch {
		case err == h1.ErrPartial:
			if buf, err = readMore(r, buf); err != nil {
				return nil, err
			}
			continue
		case err != nil:
			return nil, fmt.Errorf("the answer of the proxy is broken: %w", err)
		case h.Status/100 == 2:
			return buf[n:], nil
		case h.Status/100 != 1 || h.Status == 101 || interim == maxInterim:
			return nil, &Refused{Status: h.Status}
		}
		interim++
		buf = buf[n:]
		h.Reset()
	}
}

// readMore appends some bytes to buf.
func readMore(r io.Reader, buf []byte) ([]byte, error) {
	if len(buf) == cap(buf) {
		buf = append(buf, 0)[:len(buf)]
	}
	n, err := r.Read(buf[len(buf):cap(buf)])
	if n > 0 {
		return buf[:len(buf)+n], nil
	}
	switch {
	case err == nil:
		return buf, io.ErrNoProgress
	case errors.Is(err, io.EOF):
		return buf, fmt.Errorf("the proxy closes the connection instead of answering: %w", io.ErrUnexpectedEOF)
	}
	return buf, err
}

// conn is a tunnel whose first bytes were already read.
type conn struct {
	net.Conn
	unread []byte
}

func (c *conn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.unread)
	if c.unread = c.unread[n:]; len(c.unread) == 0 {
		c.unread = nil
	}
	return n, nil
}

// CloseWrite closes the sending side, if the connection below supports it.
func (c *conn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return errors.ErrUnsupported
}
