package gale

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
)

// foreignUpstream is the upstream server of the proxies of TestNothingForeign. It answers
// as the query says, with the canary of the target everywhere, and looks for other
// canaries in its requests.
func foreignUpstream(t *testing.T, f *foreignTest) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go f.serveUpstream(c)
		}
	}()
	return ln.Addr().String()
}

func (f *foreignTest) serveUpstream(c net.Conn) {
	defer c.Close()
	br := bufio.NewReader(c)
	for {
		var head []byte
		for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			line, err := br.ReadSlice('\n')
			head = append(head, line...)
			if err != nil {
				return
			}
		}
		own := string(canaries.Find(head))
		if found := foreign(head, own); found != "" {
			f.failf("the upstream of %s was sent %s in %q", own, found, head)
		}
		if n := requestLength(head); n > 0 {
			body := make([]byte, n)
			for i := range body {
				b, err := br.ReadByte()
				if err != nil {
					return
				}
				body[i] = b
			}
			if found := foreign(body, own); found != "" {
				f.failf("the upstream of %s was sent %s in the body %q", own, found, body)
			}
		}
		mode, cut, _ := strings.Cut(modeOf(head), ":")
		answer, last := upstreamAnswer(mode, own)
		if cut != "" {
			n := 0
			fmt.Sscan(cut, &n)
			answer, last = answer[:n*len(answer)/100], true
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
		if mode == "silent" {
			_, _ = br.ReadByte() // waits until the client gives up
			return
		}
		if mode == "reset" {
			_ = c.(*net.TCPConn).SetLinger(0)
		}
		if last {
			return
		}
	}
}

func requestLength(head []byte) (n int) {
	if _, v, ok := bytes.Cut(head, []byte("\r\nContent-Length: ")); ok {
		fmt.Sscan(string(v[:bytes.IndexByte(v, '\r')]), &n)
	}
	return n
}

// modeOf returns the value of the argument up.
func modeOf(head []byte) string {
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	_, v, _ := bytes.Cut(line, []byte("up="))
	v, _, _ = bytes.Cut(v, []byte(" "))
	v, _, _ = bytes.Cut(v, []byte("&"))
	return string(bytes.Replace(v, []byte("%3A"), []byte(":"), 1))
}

// upstreamModes are the kinds of answers.
var upstreamModes = []string{"plain", "plain", "chunked", "trailers", "interim", "early", "cookies", "close", "malformed", "garbage", "redirect", "empty", "reset", "silent"}

// upstreamAnswer returns an answer full of the canary own. last says that the connection
// ends with it.
func upstreamAnswer(mode, own string) (answer string, last bool) {
	fields := fmt.Sprintf("Set-Cookie: sid=%s\r\nSet-Cookie: a=%s; Path=/%s\r\nX-Canary: %s\r\nX-%s: 1\r\nContent-Type: text/%s\r\nServer: %s\r\n", own, own, own, own, own, own, own)
	body := strings.Repeat(own, 20)
	sized := fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", fields, len(body), body)
	switch mode {
	case "chunked":
		return fmt.Sprintf("HTTP/1.1 201 Made %s\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", own, fields, len(body), body), false
	case "trailers":
		return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sTrailer: X-Trail\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\nX-Trail: %s\r\nX-More: %s\r\n\r\n", fields, len(body), body, own, own), false
	case "interim":
		return "HTTP/1.1 103 Early Hints\r\nLink: <" + own + ">\r\n\r\n" + sized, false
	case "early":
		return "HTTP/1.1 102 " + own + "\r\nX-" + own + ": " + own + "\r\n\r\nHTTP/1.1 103 E\r\n" + fields + "\r\n" + sized, false
	case "cookies":
		return fmt.Sprintf("HTTP/1.1 404 Not Found\r\n%sContent-Length: 0\r\n\r\n", strings.Repeat(fields, 8)), false
	case "close":
		return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sConnection: close\r\n\r\n%s", fields, body), true
	case "malformed":
		return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: 1, 2\r\nno field %s\r\n\r\n", fields, own), true
	case "garbage":
		return own + " " + fields, true
	case "redirect":
		return fmt.Sprintf("HTTP/1.1 302 Found\r\nLocation: /again/%s\r\n%sContent-Length: 0\r\n\r\n", own, fields), false
	case "empty":
		return "", true
	case "reset":
		return sized, true
	case "silent":
		return "HTTP/1.1 200 OK\r\n" + fields, true
	}
	return sized, false
}
