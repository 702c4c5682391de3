package gale

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// echoHost answers with the Host of the request.
func echoHost(ctx *RequestCtx) { ctx.SetBody(ctx.Host()) }

// Each host has its own connections, and different spellings of its URL share them.
func TestClientHosts(t *testing.T) {
	before := runtime.NumGoroutine()
	n := newMemNetwork(t)
	const hosts = 100
	for i := range hosts {
		n.serve(t, fmt.Sprintf("h%d.test:80", i), echoHost)
	}
	c := &Client{Dial: n.dial}
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
	n.close()
	wantGoroutines(t, before)
}

// A Client has no goroutine for a host, and forgets hosts that aren't used.
func TestClientForgetsHosts(t *testing.T) {
	n := newMemNetwork(t)
	for _, a := range []string{"a.test:80", "b.test:80", "c.test:80"} {
		n.serve(t, a, echoHost)
	}
	c := &Client{Dial: n.dial}
	get := func(url string) {
		t.Helper()
		if _, _, err := c.Get(nil, url); err != nil {
			t.Fatal(err)
		}
	}
	get("http://a.test/")
	get("http://a.test:80/")
	get("http://b.test/")
	known := func() (hosts, names int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.hosts[0].byAddr), len(c.hosts[0].byName)
	}
	if hosts, names := known(); hosts != 2 || names != 3 {
		t.Fatalf("%d hosts, %d names, want 2 and 3", hosts, names)
	}
	age := func() {
		for _, hc := range c.hostClients() {
			hc.pool.age(time.Hour)
		}
	}
	age()
	c.sweep()
	if hosts, _ := known(); hosts != 2 {
		t.Fatal("hosts with connections were forgotten")
	}
	c.CloseIdleConnections()
	get("http://b.test/")
	c.CloseIdleConnections()
	c.sweep()
	if hosts, names := known(); hosts != 1 || names != 1 {
		t.Fatalf("%d hosts and %d names are left, want the one that was just used", hosts, names)
	}
	age()
	c.sweep()
	if hosts, names := known(); hosts != 0 || names != 0 {
		t.Fatalf("%d hosts and %d names are left", hosts, names)
	}
	timer := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.sweeper != nil
	}
	if timer() {
		t.Error("a timer runs although there is no host")
	}
	get("http://a.test/")
	if !timer() {
		t.Error("no timer runs although there is a host")
	}
	c.CloseIdleConnections()
}

// Requests and sweeps at once: no request is left with a host that was forgotten.
func TestClientForgetsHostsConcurrently(t *testing.T) {
	n := newMemNetwork(t)
	n.serve(t, "a.test:80", func(ctx *RequestCtx) { ctx.SetConnectionClose() })
	var made atomic.Int64
	c := &Client{Dial: n.dial, MaxConnsPerHost: 4, ConfigureClient: func(hc *HostClient) error {
		made.Add(1)
		return nil
	}}
	stop := make(chan struct{})
	var sweeper, wg sync.WaitGroup
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, hc := range c.hostClients() {
				hc.pool.age(time.Hour)
			}
			c.sweep()
		}
	})
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if _, _, err := c.Get(nil, "http://a.test/"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	sweeper.Wait()
	if made.Load() == 0 {
		t.Error("no host was made")
	}
}

// Fields of a Client reach the HostClients, new ones too.
func TestClientSettingsReachHosts(t *testing.T) {
	c := new(Client)
	v := reflect.ValueOf(c).Elem()
	hostType := reflect.TypeFor[HostClient]()
	names := map[string]string{"MaxConnsPerHost": "MaxConns"}
	var checked []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Name == "ConfigureClient" || f.Name == "Proxy" || f.Name == "Jar" || f.Name == "Uncompress" {
			continue
		}
		name := f.Name
		if other, ok := names[name]; ok {
			name = other
		}
		if _, ok := hostType.FieldByName(name); !ok {
			t.Errorf("HostClient has no %s", name)
			continue
		}
		setNonZero(t, v.Field(i))
		checked = append(checked, name)
	}
	hc := reflect.ValueOf(c.newHostClient("a.test:80", true)).Elem()
	for _, name := range checked {
		if hc.FieldByName(name).IsZero() {
			t.Errorf("%s doesn't reach the HostClient", name)
		}
	}
	for i := range hostType.NumField() {
		f := hostType.Field(i)
		if f.IsExported() && hc.Field(i).IsZero() && f.Name != "SecureErrorLogMessage" {
			t.Errorf("a Client has no way to set HostClient.%s but ConfigureClient", f.Name)
		}
	}
}

// setNonZero gives v any value but its zero value.
func setNonZero(t *testing.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.String:
		v.SetString("x")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Interface:
		v.Set(reflect.ValueOf(DefaultTransport))
	default:
		t.Fatalf("what is a %s?", v.Type())
	}
}

// An error of ConfigureClient fails the calls that wait for the host, and only these.
func TestClientConfigureErrors(t *testing.T) {
	n := newMemNetwork(t)
	n.serve(t, "a.test:80", echoHost)
	n.serve(t, "b.test:80", echoHost)
	boom := errors.New("boom")
	var calls, fail atomic.Int64
	fail.Store(1)
	c := &Client{Dial: n.dial}
	c.ConfigureClient = func(hc *HostClient) error {
		if hc.Addr == "b.test:80" {
			return nil
		}
		calls.Add(1)
		// The client may be used here.
		if _, _, err := c.Get(nil, "http://b.test/"); err != nil {
			t.Errorf("from within ConfigureClient: %v", err)
		}
		if fail.Load() == 1 {
			return boom
		}
		hc.Name = "configured"
		return nil
	}
	defer c.CloseIdleConnections()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, _, err := c.Get(nil, "http://a.test/"); err != boom {
				t.Errorf("%v, want the error of ConfigureClient", err)
			}
		})
	}
	wg.Wait()
	if calls.Load() < 1 {
		t.Error("ConfigureClient wasn't called")
	}
	fail.Store(0)
	calls.Store(0)
	for range 20 {
		wg.Go(func() {
			if _, _, err := c.Get(nil, "http://a.test/"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if calls.Load() != 1 {
		t.Errorf("ConfigureClient was called %d times for a host", calls.Load())
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name, h := range c.hosts[0].byName {
		if h.uses.Load() != 0 {
			t.Errorf("%s counts as used %d times", name, h.uses.Load())
		}
	}
}

// A panic of ConfigureClient reaches the caller, and the Client still works.
func TestClientConfigurePanic(t *testing.T) {
	n := newMemNetwork(t)
	n.serve(t, "a.test:80", echoHost)
	c := &Client{Dial: n.dial, ConfigureClient: func(*HostClient) error { panic("boom") }}
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
	n := newMemNetwork(t)
	c := &Client{Dial: n.dial}
	for url, want := range map[string]string{
		"":                       `gale: missing required host header in request: the URL "/" names no host, as http://example.com/ does`,
		"a.test":                 `gale: missing required host header in request: the URL "a.test" names no host, as http://example.com/ does`,
		"/x":                     `gale: missing required host header in request: the URL "/x" names no host, as http://example.com/ does`,
		"http:///x":              `gale: invalid uri: it names no host, as http://example.com/ does`,
		"http://:8080/":          `gale: invalid uri: it names no host, as http://example.com/ does`,
		"https://u:p@:8080/":     `gale: invalid uri: it names no host, as http://example.com/ does`,
		"//:8080/":               `gale: invalid host ":8080": a port alone names no host, as localhost:8080 does`,
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
		req := AcquireRequest()
		for range 2 { // the second time as well
			req.SetRequestURI(url)
			if err := c.Do(req, nil); err == nil || err.Error() != want {
				t.Errorf("%q: %v, want %s", url, err, want)
			}
			if err := c.Do(req, nil); err == nil || err.Error() != want {
				t.Errorf("%q again: %v, want %s", url, err, want)
			}
		}
		ReleaseRequest(req)
	}
	req := AcquireRequest()
	defer ReleaseRequest(req)
	req.SetRequestURI("http://a.test/")
	req.URI().SetHost("a.test,b.test")
	if err := c.Do(req, nil); err == nil || err.Error() != `gale: invalid host "a.test,b.test": use a host client for multiple hosts` {
		t.Errorf("a list of hosts: %v", err)
	}
	if len(n.log) != 0 {
		t.Errorf("these were dialed: %v", n.log)
	}
}

// Host and port decide where a request goes. The Host header alone is enough.
func TestClientHostFromHeader(t *testing.T) {
	n := newMemNetwork(t)
	n.serve(t, "a.test:80", echoHost)
	n.serve(t, "a.test:81", echoHost)
	c := &Client{Dial: n.dial}
	defer c.CloseIdleConnections()
	for _, host := range []string{"a.test", "a.test:81"} {
		req, resp := AcquireRequest(), AcquireResponse()
		req.Header.SetHost(host)
		req.SetRequestURI("/x")
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != host {
			t.Errorf("%s: %q %v", host, resp.Body(), err)
		}
		ReleaseRequest(req)
		ReleaseResponse(resp)
	}
}

// Get and Post limit bodies even if others are streamed.
func TestGetLimitsStreams(t *testing.T) {
	n := newMemNetwork(t)
	n.serve(t, "a.test:80", func(ctx *RequestCtx) {
		ctx.SetBodyString(strings.Repeat("x", ctx.QueryArgs().GetUintOrZero("n")))
	})
	for _, stream := range []bool{false, true} {
		c := &Client{Dial: n.dial, StreamResponseBody: stream, MaxResponseBodySize: 10000}
		for size, want := range map[int]error{0: nil, 1: nil, 9999: nil, 10000: nil, 10001: ErrBodyTooLarge, 100000: ErrBodyTooLarge} {
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
	n := newMemNetwork(t)
	c := &Client{Dial: n.dial}
	dst := []byte("mine")
	for _, timeout := range []time.Duration{0, -1} {
		code, body, err := c.GetTimeout(dst, "http://a.test/", timeout)
		if code != 0 || string(body) != "mine" || err != ErrTimeout {
			t.Errorf("GetTimeout: %d %q %v", code, body, err)
		}
		if err := c.DoTimeout(AcquireRequest(), nil, timeout); err != ErrTimeout {
			t.Errorf("DoTimeout: %v", err)
		}
	}
	if _, _, err := c.GetDeadline(dst, "http://a.test/", time.Now()); err != ErrTimeout {
		t.Errorf("GetDeadline: %v", err)
	}
	if len(n.log) != 0 {
		t.Errorf("these were dialed: %v", n.log)
	}
}

// A response that was used for HEAD has a body again when it is used for GET.
func TestClientAfterHead(t *testing.T) {
	n := newMemNetwork(t)
	n.serve(t, "a.test:80", echoHost)
	c := &Client{Dial: n.dial}
	defer c.CloseIdleConnections()
	req, resp := AcquireRequest(), AcquireResponse()
	defer ReleaseRequest(req)
	defer ReleaseResponse(resp)
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
