package client

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Each host has its own connections, and different spellings of its URL share them.
func TestClientHosts(t *testing.T) {
	before := runtime.NumGoroutine()
	n := peers.NewNetwork(t)
	const hosts = 100
	for i := range hosts {
		harness.ServeAt(t, n, fmt.Sprintf("h%d.test:80", i), harness.EchoHost)
	}
	c := &gale.Client{Dial: n.Dial}
	var wg sync.WaitGroup
	for i := range hosts {
		wg.Go(func() {
			for _, form := range []string{"http://h%d.test/", "http://h%d.test:80/x", "HTTP://H%d.Test", "http://h%d.test:", "http://u:p@h%d.test/"} {
				u := fmt.Sprintf(form, i)
				if code, body, err := c.Get(nil, u); code != 200 || err != nil || !strings.HasPrefix(string(body), fmt.Sprintf("h%d.test", i)) {
					t.Errorf("%s: %d %q %v", u, code, body, err)
				}
			}
		})
	}
	wg.Wait()
	if s := c.PoolStats(); s.Open != hosts || s.Idle != hosts || s.Dials != hosts || s.Reuses != 4*hosts {
		t.Errorf("%+v, want %d connections, each of which was used for five requests", s, hosts)
	}
	c.CloseIdleConnections()
	if open, idle := c.ConnsCount(), c.IdleConnsCount(); open != 0 || idle != 0 {
		t.Errorf("%d connections are open, %d idle after they were closed", open, idle)
	}
	n.Close()
	peers.WantGoroutines(t, before)
}

// A panic of ConfigureClient reaches the caller, and the Client still works.
func TestClientConfigurePanic(t *testing.T) {
	n := peers.NewNetwork(t)
	harness.ServeAt(t, n, "a.test:80", harness.EchoHost)
	c := &gale.Client{Dial: n.Dial, ConfigureClient: func(*gale.HostClient) error { panic("boom") }}
	defer c.CloseIdleConnections()
	func() {
		defer func() { _ = recover() }()
		_, _, err := c.Get(nil, "http://a.test/")
		t.Errorf("Get returned %v", err)
	}()
	c.ConfigureClient = nil
	if _, _, err := c.Get(nil, "http://a.test/"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A request that can't be sent fails before anything is dialed, with an error that says
// why.
func TestClientBadURLs(t *testing.T) {
	n := peers.NewNetwork(t)
	c := &gale.Client{Dial: n.Dial}
	for url, want := range map[string]string{
		"":                       `gale: missing required host header in request: the URL "/" names no host, as http://example.com/ does`,
		"a.test":                 `gale: missing required host header in request: the URL "a.test" names no host, as http://example.com/ does`,
		"/x":                     `gale: missing required host header in request: the URL "/x" names no host, as http://example.com/ does`,
		"http:///x":              `gale: invalid uri: it names no host, as http://example.com/ does`,
		"http://:8080/":          `gale: invalid uri: it names no host, as http://example.com/ does`,
		"https://u:p@:8080/":     `gale: invalid uri: it names no host, as http://example.com/ does`,
		"//:8080/":               `gale: missing required host header in request: the URL "//:8080/" names no host, as http://example.com/ does`,
		"http://bücher.test/":    `gale: invalid character "ü" in host name: write "bücher.test" in ASCII (punycode), as golang.org/x/net/idna does`,
		"http://b%C3%BCcher.de/": `gale: invalid character "ü" in host name: write "bücher.de" in ASCII (punycode), as golang.org/x/net/idna does`,
		"ftp://a.test/":          `gale: unsupported protocol "ftp". http and https are supported`,
		"http://a.test,b.test/":  `gale: invalid character "," in host name`,
		"http://a%20b/":          `gale: invalid url escape "%20"`,
		"http://%80/":            `gale: invalid character "\x80" in host name`,
		"http://a b/":            `gale: invalid character " " in host name`,
		"http://a.test:x/":       `gale: invalid port ":x" after host`,
		"http://[::1/":           "gale: missing ']' in host",
		"http://a.test\r\nX: y/": `gale: invalid character " " in host name`,
	} {
		req := gale.AcquireRequest()
		for range 2 { // the second time as well
			req.SetRequestURI(url)
			if err := c.Do(req, nil); err == nil || err.Error() != want {
				t.Errorf("%q: %v, want %s", url, err, want)
			}
			if err := c.Do(req, nil); err == nil || err.Error() != want {
				t.Errorf("%q again: %v, want %s", url, err, want)
			}
		}
		gale.ReleaseRequest(req)
	}
	req := gale.AcquireRequest()
	defer gale.ReleaseRequest(req)
	req.SetRequestURI("http://a.test/")
	req.URI().SetHost("a.test,b.test")
	if err := c.Do(req, nil); err == nil || err.Error() != `gale: invalid host "a.test,b.test": use a host client for multiple hosts` {
		t.Errorf("a list of hosts: %v", err)
	}
	if len(n.Log) != 0 {
		t.Errorf("these were dialed: %v", n.Log)
	}
}

// Host and port decide where a request goes. The Host header alone is enough.
func TestClientHostFromHeader(t *testing.T) {
	n := peers.NewNetwork(t)
	harness.ServeAt(t, n, "a.test:80", harness.EchoHost)
	harness.ServeAt(t, n, "a.test:81", harness.EchoHost)
	c := &gale.Client{Dial: n.Dial}
	defer c.CloseIdleConnections()
	for _, host := range []string{"a.test", "a.test:81"} {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.Header.SetHost(host)
		req.SetRequestURI("/x")
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != host {
			t.Errorf("%s: %q %v", host, resp.Body(), err)
		}
		gale.ReleaseRequest(req)
		gale.ReleaseResponse(resp)
	}
}

// Get and Post limit bodies even if others are streamed.
func TestGetLimitsStreams(t *testing.T) {
	n := peers.NewNetwork(t)
	harness.ServeAt(t, n, "a.test:80", func(ctx *gale.RequestCtx) {
		ctx.SetBodyString(strings.Repeat("x", ctx.QueryArgs().GetUintOrZero("n")))
	})
	for _, stream := range []bool{false, true} {
		c := &gale.Client{Dial: n.Dial, StreamResponseBody: stream, MaxResponseBodySize: 10000}
		for size, want := range map[int]error{0: nil, 1: nil, 9999: nil, 10000: nil, 10001: gale.ErrBodyTooLarge, 100000: gale.ErrBodyTooLarge} {
			for _, dst := range [][]byte{nil, make([]byte, 3, 5000), make([]byte, 0, 20000)} {
				_, body, err := c.Get(dst, fmt.Sprintf("http://a.test/?n=%d", size))
				if err != want || err == nil && len(body) != size || err != nil && len(body) != 0 {
					t.Errorf("stream %v, %d bytes: %d %v, want %v", stream, size, len(body), err, want)
				}
			}
		}
		c.CloseIdleConnections()
	}
}

// A call whose timeout has already passed touches neither the network nor the caller's
// buffer.
func TestClientTimeoutOver(t *testing.T) {
	n := peers.NewNetwork(t)
	c := &gale.Client{Dial: n.Dial}
	dst := []byte("mine")
	for _, timeout := range []time.Duration{0, -1} {
		code, body, err := c.GetTimeout(dst, "http://a.test/", timeout)
		if code != 0 || string(body) != "mine" || err != gale.ErrTimeout {
			t.Errorf("GetTimeout: %d %q %v", code, body, err)
		}
		if err := c.DoTimeout(gale.AcquireRequest(), nil, timeout); err != gale.ErrTimeout {
			t.Errorf("DoTimeout: %v", err)
		}
	}
	if _, _, err := c.GetDeadline(dst, "http://a.test/", time.Now()); err != gale.ErrTimeout {
		t.Errorf("GetDeadline: %v", err)
	}
	if len(n.Log) != 0 {
		t.Errorf("these were dialed: %v", n.Log)
	}
}

// A response that was used for HEAD has a body again when it is used for GET.
func TestClientAfterHead(t *testing.T) {
	n := peers.NewNetwork(t)
	harness.ServeAt(t, n, "a.test:80", harness.EchoHost)
	c := &gale.Client{Dial: n.Dial}
	defer c.CloseIdleConnections()
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	for _, test := range []struct {
		method, want string
		skip         bool
	}{{"HEAD", "", false}, {"GET", "a.test", false}, {"GET", "", true}, {"HEAD", "", true}, {"GET", "", true}} {
		req.SetRequestURI("http://a.test/")
		req.Header.SetMethod(test.method)
		if test.skip {
			resp.SkipBody = true
		}
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != test.want {
			t.Errorf("%+v: %q, %v", test, resp.Body(), err)
		}
	}
}
