package proxy_test

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// wait is how long anything may take before a test gives up.
const wait = time.Minute

// listen serves the connections of a listener on loopback with serve until the
// test ends, and returns its address.
func listen(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, ln, serve)
}

func serveOn(t testing.TB, ln net.Listener, serve func(net.Conn)) string {
	var wg sync.WaitGroup
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.SetDeadline(time.Now().Add(wait))
			wg.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	return ln.Addr().String()
}

// proxyLog is what proxies were asked.
type proxyLog struct {
	mu    sync.Mutex
	asked []string
}

func (l *proxyLog) add(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, what)
}

// take returns what was asked since the last call.
func (l *proxyLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.asked
	l.asked = nil
	return asked
}

// connectProxy is an HTTP proxy that makes every tunnel lead to target. It logs
// its name, where the tunnel was to lead, and who asked.
func connectProxy(log *proxyLog, name, target string) func(net.Conn) {
	return func(c net.Conn) {
		br := bufio.NewReader(c)
		var req gale.Request
		if err := req.Header.Read(br); err != nil {
			return
		}
		log.add(strings.TrimSpace(fmt.Sprintf("%s %s %s %s", name, req.Header.Method(), req.Header.RequestURI(), req.Header.Peek("Proxy-Authorization"))))
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		pipe(c, br, target)
	}
}

// pipe connects c with target until both directions have ended.
func pipe(c net.Conn, from io.Reader, target string) {
	if target == "" {
		return
	}
	host, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer host.Close()
	go func() {
		_, _ = io.Copy(host, from)
		_ = host.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(c, host)
}

// socksProxy is a SOCKS5 proxy that makes every tunnel lead to target. With a
// user it wants that user and password.
func socksProxy(log *proxyLog, name, user, password, target string) func(net.Conn) {
	return func(c net.Conn) {
		read := func(n int) []byte {
			b := make([]byte, n)
			if _, err := io.ReadFull(c, b); err != nil {
				return make([]byte, n)
			}
			return b
		}
		methods := read(int(read(2)[1]))
		who := ""
		if user == "" {
			c.Write([]byte{5, 0})
		} else {
			if !strings.Contains(string(methods), "\x02") {
				c.Write([]byte{5, 0xff})
				return
			}
			c.Write([]byte{5, 2})
			u := string(read(int(read(2)[1])))
			p := string(read(int(read(1)[0])))
			if u != user || p != password {
				c.Write([]byte{1, 1})
				return
			}
			c.Write([]byte{1, 0})
			who = u
		}
		var host string
		switch head := read(4); head[3] {
		case 1:
			host = net.IP(read(4)).String()
		case 3:
			host = string(read(int(read(1)[0])))
		case 4:
			host = net.IP(read(16)).String()
		}
		port := int(binary.BigEndian.Uint16(read(2)))
		log.add(strings.TrimSpace(name + " " + net.JoinHostPort(host, strconv.Itoa(port)) + " " + who))
		c.Write([]byte{5, 0, 0, 1, 127, 0, 0, 1, 0, 80})
		pipe(c, c, target)
	}
}

// echo sends back what it gets.
func echo(c net.Conn) { _, _ = io.Copy(c, c) }

// checkEcho sends bytes through c and wants them back.
func checkEcho(t testing.TB, c net.Conn) {
	t.Helper()
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(wait))
	if _, err := io.WriteString(c, "through"); err != nil {
		t.Error(err)
		return
	}
	b := make([]byte, 7)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "through" {
		t.Errorf("got %q back, %v", b, err)
	}
}

// testTLS returns the configurations of a server and of clients that trust it.
func testTLS(t testing.TB, host string) (server, client *tls.Config) {
	t.Helper()
	cert, key, err := gale.GenerateTestCertificate(host)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}, &tls.Config{RootCAs: pool(cert)}
}
