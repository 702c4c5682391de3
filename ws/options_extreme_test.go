package ws

import (
	"context"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
)

// extremes returns copies of o, a struct, in which one number has an extreme value, by what
// has which value. Values that make every message fail are left out.
func extremes[T any](make func() *T, numbers func(o *T) reflect.Value, useless ...string) map[string]*T {
	all := map[string]*T{}
	for i := range numbers(make()).NumField() {
		for name, v := range map[string]int64{"min": math.MinInt64, "-1": -1, "0": 0, "1": 1, "max": math.MaxInt64} {
			o := make()
			f := numbers(o).Field(i)
			if !f.CanInt() || f.Kind() < reflect.Int {
				continue
			}
			switch {
			case f.OverflowInt(v) && v < 0:
				v = -1 << (f.Type().Bits() - 1)
			case f.OverflowInt(v):
				v = 1<<(f.Type().Bits()-1) - 1
			}
			f.SetInt(v)
			if name = numbers(o).Type().Field(i).Name + " " + name; !slices.Contains(useless, name) {
				all[name] = o
			}
		}
	}
	return all
}

// uselessNumbers are settings with which the connection ends at once, as they say.
var uselessNumbers = []string{
	"MaxMessage 1", "MaxCompressed 1", "MaxQueue 1", // one byte
	"MaxControl 1",                                                                         // one ping a second
	"PingInterval 1", "IdleTimeout 1", "MaxLifetime 1", "WriteTimeout 1", "CloseTimeout 1", // a nanosecond
}

// TestExtremeNumbers proves that a Socket and a Conn of a server and of a client work, with
// each number of their options at its extremes: they echo a message, and answer pings.
func TestExtremeNumbers(t *testing.T) {
	own := func(o *Options) reflect.Value { return reflect.ValueOf(o).Elem() }
	compression := func(o *Options) reflect.Value { return reflect.ValueOf(o.Compression).Elem() }
	fresh := func() *Options { return &Options{Compression: &Compression{SendTakeover: true}} }
	all := extremes(fresh, own, uselessNumbers...)
	for name, o := range extremes(fresh, compression) {
		all["Compression."+name] = o
	}
	if len(all) < 40 {
		t.Fatal("only", len(all), "rows")
	}
	useless := extremes(fresh, own)
	for _, name := range uselessNumbers {
		if useless[name] == nil {
			t.Error("there is no option", name)
		}
	}
	for name, o := range all {
		t.Run(name, func(t *testing.T) {
			checkNoLeaks(t)
			client := &DialOptions{}
			to, from := reflect.ValueOf(client).Elem(), reflect.ValueOf(o).Elem()
			for i := range from.NumField() {
				f := from.Type().Field(i)
				if v := to.FieldByName(f.Name); f.IsExported() && v.IsValid() && v.Type() == f.Type {
					v.Set(from.Field(i))
				}
			}
			for kind, s := range map[string]*socketServer{
				"Serve":           serveSockets(t, way{gale.EngineEvent, false}, newEvents(), o),
				"Serve over TLS":  serveSockets(t, way{gale.EngineBlock, true}, newEvents(), o),
				"Accept":          serveConns(t, way{gale.EngineBlock, false}, echoConn, o),
				"Accept over TLS": serveConns(t, way{gale.EngineEvent, true}, echoConn, o),
			} {
				c := s.open(t, client)
				checkEcho(t, c, Text, strings.Repeat("abc", 1000))
				if err := c.Ping(testContext(t)); err != nil {
					t.Errorf("%s: Ping: %v", kind, err)
				}
				raw := s.dial(t)
				raw.send(frame(wsframe.Ping, true, "p"), frame(wsframe.Pong, true, ""), message("a"))
				raw.want(wsframe.Pong, "p")
				raw.want(wsframe.Text, "a")
				if err := c.Close(StatusNormal, ""); err != nil {
					t.Errorf("%s: Close: %v", kind, err)
				}
				if logged := s.logs.String(); logged != "" {
					t.Errorf("%s: the server logged %s", kind, logged)
				}
			}
		})
	}
}

// TestUselessNumbers proves that the settings that end a connection at once do that, and
// that nothing panics.
func TestUselessNumbers(t *testing.T) {
	all := extremes(func() *Options { return &Options{} }, func(o *Options) reflect.Value { return reflect.ValueOf(o).Elem() })
	for _, name := range uselessNumbers {
		t.Run(name, func(t *testing.T) {
			checkNoLeaks(t)
			for _, s := range []*socketServer{
				serveSockets(t, way{gale.EngineEvent, false}, newEvents(), all[name]),
				serveConns(t, way{gale.EngineBlock, false}, echoConn, all[name]),
			} {
				c := s.open(t, nil)
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				_ = c.Write(ctx, Text, []byte("abc"))
				_, _, _ = c.Read(ctx)
				_ = c.Ping(ctx)
				cancel()
				_ = c.CloseNow()
				if logged := s.logs.String(); logged != "" {
					t.Errorf("the server logged %s", logged)
				}
			}
		})
	}
}
