package lifetimes

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// The first request has firstUser everywhere, the others have otherUser.
const (
	firstUser = "first-user"
	otherUser = "other-user"
)

// request returns the bytes of a request that has who in its target, fields and body.
func (p *program) request(who string) []byte {
	method := "POST"
	if p.option("method") {
		method = who
	}
	typ, body := "application/json", `{"user":"`+who+`","data":"`+who+`"}`
	switch {
	case p.option("form"):
		typ, body = "application/x-www-form-urlencoded", "user="+who+"&mail="+who
	case p.option("multipart"):
		typ = "multipart/form-data; boundary=b"
		body = part(`name="user"`, who) + part(`name="mail"`, who) +
			part(`name="file"; filename="`+who+`"`, who) + "--b--\r\n"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s /users/%[2]s?user=%[2]s&tag=%[2]s HTTP/1.1\r\nHost: %[2]s.test\r\n", method, who)
	for _, name := range []string{"User-Agent", "Referer", "X-Token"} {
		fmt.Fprintf(&b, "%s: %s\r\n", name, who)
	}
	fmt.Fprintf(&b, "Authorization: Bearer %[1]s\r\nCookie: sid=%[1]s\r\nContent-Type: %[2]s\r\n", who, typ)
	if p.option("streamed") {
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	} else {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	return b.Bytes()
}

func part(disposition, content string) string {
	return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
}

// client sends requests one after the other, on one connection as long as that lasts.
type client struct {
	dial func() (net.Conn, error)
	conn net.Conn
	r    *bufio.Reader
}

// do sends a request and reads the response. It tries again on a new connection if an
// old one is at its end.
func (c *client) do(request []byte) {
	fresh := c.conn == nil
	err := c.try(request)
	if err != nil && !fresh {
		err = c.try(request)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no response:", err)
	}
}

func (c *client) try(request []byte) (err error) {
	if c.conn == nil {
		if c.conn, err = c.dial(); err != nil {
			return err
		}
		c.r = bufio.NewReader(c.conn)
	}
	c.conn.SetDeadline(time.Now().Add(10 * time.Second))
	resp, err := c.exchange(request)
	if err != nil || resp.Close {
		c.conn.Close()
		c.conn = nil
	}
	return err
}

func (c *client) exchange(request []byte) (*http.Response, error) {
	if _, err := c.conn.Write(request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(io.Discard, resp.Body); err != nil {
		return nil, err
	}
	return resp, nil
}

// hasUser reports whether s has text of a request.
func hasUser(s string) bool {
	s = strings.ToLower(s)
	return strings.Contains(s, firstUser) || strings.Contains(s, otherUser)
}
