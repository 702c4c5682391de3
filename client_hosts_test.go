package gale

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/peers"
)

// echoHost answers with the Host of the request.
func echoHost(ctx *RequestCtx) { ctx.SetBody(ctx.Host()) }

// A Client has no goroutine for a host, and forgets hosts that aren't used.
func TestClientForgetsHosts(t *testing.T) {
	n := peers.NewNetwork(t)
	for _, a := range []string{"a.test:80", "b.test:80", "c.test:80"} {
		serveAt(t, n, a, echoHost)
	}
	c := &Client{Dial: n.Dial}
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
	n := peers.NewNetwork(t)
	serveAt(t, n, "a.test:80", func(ctx *RequestCtx) { ctx.SetConnectionClose() })
	var made atomic.Int64
	c := &Client{Dial: n.Dial, MaxConnsPerHost: 4, ConfigureClient: func(hc *HostClient) error {
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
	n := peers.NewNetwork(t)
	serveAt(t, n, "a.test:80", echoHost)
	serveAt(t, n, "b.test:80", echoHost)
	boom := errors.New("boom")
	var calls, fail atomic.Int64
	fail.Store(1)
	c := &Client{Dial: n.Dial}
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
