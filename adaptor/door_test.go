package adaptor

import (
	"net"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// What a handler gets from Conn is a net.Conn. A program can't reach the exchange
// through it, nor make a second context for it.
func TestConnIsNoDoor(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "https://h/", nil) // with a TLS state
	NewHTTPHandler(func(ctx *gale.RequestCtx) {
		allowed := map[string]bool{"Exchange": true, "ConnectionState": true}
		for m := range reflect.TypeFor[net.Conn]().Methods() {
			allowed[m.Name] = true
		}
		for m := range reflect.TypeOf(ctx.Conn()).Methods() {
			if !allowed[m.Name] {
				t.Errorf("the connection has the method %s", m.Name)
			}
		}
		if ctx.Conn() != ctx.Conn() {
			t.Error("Conn returns two connections")
		}
		var second gale.RequestCtx
		second.Init2(ctx.Conn(), nil, false)
		second.SetBodyString("of the second")
		if err := second.Flush(); err != gale.ErrNilConnection {
			t.Errorf("Flush of a second context for the same connection: %v, want ErrNilConnection", err)
		}
		if _, err := second.HijackNow(); err != gale.ErrNilConnection {
			t.Errorf("HijackNow of a second context for the same connection: %v, want ErrNilConnection", err)
		}
		if !second.IsTLS() || second.RemoteAddr() != ctx.RemoteAddr() {
			t.Errorf("a second context doesn't know the connection: TLS %v, %v", second.IsTLS(), second.RemoteAddr())
		}
		ctx.SetBodyString("of the first")
		if err := ctx.Flush(); err != nil {
			t.Errorf("Flush: %v", err)
		}
	}).ServeHTTP(w, r)
	if s := w.Body.String(); s != "of the first" {
		t.Errorf("the body is %q", s)
	}
}

// lookalike has the method that brings an exchange, as far as another module can have
// it, and those of an exchange.
type lookalike struct {
	net.Conn
	*outer
}

func (lookalike) Exchange(struct{}) any              { panic("taken for a door") }
func (lookalike) LocalAddr() net.Addr                { return nil }
func (lookalike) RemoteAddr() net.Addr               { return nil }
func (lookalike) SetReadDeadline(t time.Time) error  { return nil }
func (lookalike) SetWriteDeadline(t time.Time) error { return nil }

// A connection of a program has no door, whatever its methods are called.
func TestLookalikeIsNoDoor(t *testing.T) {
	var ctx gale.RequestCtx
	ctx.Init2(lookalike{outer: newOuter(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))}, nil, false)
	if err := ctx.Flush(); err != gale.ErrNilConnection {
		t.Errorf("Flush: %v, want ErrNilConnection", err)
	}
}
