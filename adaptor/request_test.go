package adaptor

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// The short way of parsing a target gives what package net/url gives, for each byte at
// each place.
func TestParsePathIsThatOfURL(t *testing.T) {
	for c := range 256 {
		b := string([]byte{byte(c)})
		for _, target := range []string{
			b, "/" + b, "/a" + b, "/a" + b + "b", "/?" + b, "/a?b" + b, "/a?b" + b + "c", "//" + b, "/a/../" + b, "/%" + b + "0", "/a?b?c" + b,
			"/?" + b + "?", "/a?" + b + "=%zz", "http://h/" + b,
		} {
			var u url.URL
			if !parsePath(&u, target) {
				continue
			}
			want, err := url.ParseRequestURI(target)
			if err != nil || *want != u {
				t.Errorf("%q: %#v, want %#v, %v", target, u, want, err)
			}
		}
	}
}

func TestAddressIsItsString(t *testing.T) {
	for _, a := range []net.Addr{
		&net.TCPAddr{IP: net.IP{127, 0, 0, 1}, Port: 1},
		&net.TCPAddr{IP: net.IPv4(255, 255, 255, 255), Port: 65535},
		&net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 65536, Zone: "z"},
		&net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: -1},
		&net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 70000},
		&net.TCPAddr{IP: net.IPv6loopback, Port: 80},
		&net.TCPAddr{IP: net.ParseIP("2001:db8::a:0:0:1"), Port: 0},
		&net.TCPAddr{IP: net.ParseIP("2001:db8:1111:2222:3333:4444:5555:6666"), Port: 12345},
		&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 80, Zone: "eth0"},
		&net.TCPAddr{IP: net.IP{1, 2, 3}, Port: 80},
		&net.TCPAddr{Port: 80},
		&net.TCPAddr{},
		(*net.TCPAddr)(nil),
		&net.UnixAddr{Name: "@", Net: "unix"},
		&net.UnixAddr{Name: "/a/rather/long/name/of/a/socket/that/is/longer/than/most/addresses", Net: "unix"},
	} {
		if got, want := string(appendAddress([]byte("x"), a)), "x"+a.String(); got != want {
			t.Errorf("%#v: %q, want %q", a, got, want)
		}
	}
}

func TestIPv4Address(t *testing.T) {
	for i := range 256 {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(i), byte(i + 64), byte(i + 128), byte(255 - i)}), uint16(i*257))
		if got, want := string(appendAddrPort([]byte("x"), a)), "x"+a.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A handler finds the address of its client, or what SetRemoteAddr says, on each engine.
func TestRemoteAddr(t *testing.T) {
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	s := func() *gale.Server {
		return &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			if ctx.QueryArgs().Has("set") {
				ctx.SetRemoteAddr(&net.TCPAddr{IP: net.IPv6loopback, Port: 7})
			}
			h(ctx)
		}}
	}
	onEngines(t, s, func(t *testing.T, addr string) {
		var local string
		tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				local = c.LocalAddr().String()
			}
			return c, err
		}}
		defer tr.CloseIdleConnections()
		for range 2 {
			for _, query := range []string{"", "?set"} {
				resp, err := (&http.Client{Transport: tr}).Get("http://" + addr + "/" + query)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				want := local
				if query != "" {
					want = "[::1]:7"
				}
				if err != nil || string(got) != want {
					t.Errorf("%q: the client is %q, want %q, %v", query, got, want, err)
				}
			}
		}
	})
}

// plainHeader is the header of a request by the exported methods alone.
func plainHeader(ctx *gale.RequestCtx) http.Header {
	h := http.Header{}
	for k, v := range ctx.Request.Header.AllInOrder() {
		name := http.CanonicalHeaderKey(string(k))
		switch name {
		case "Host", "Transfer-Encoding", "Trailer":
			continue
		}
		h[name] = append(h[name], string(v))
	}
	return h
}

// What middleware has changed in a request is what a handler finds.
func TestChangedRequest(t *testing.T) {
	names := []string{"Host", "Accept", "accept", "X-Own", "x-own", "X-OTHER", "Cookie", "Content-Length", "Connection", "User-Agent",
		"Content-Type", "Transfer-Encoding", "Trailer", "WWW-Authenticate", "Expect", "no token", "no\r\nname", "\xffa"}
	values := []string{"", "v", "close", "keep-alive", "7", "a=b; c=d", "chunked", "X-Sum", "a rather long value, so that it is not written over another one"}
	heads := []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET http://other/p?q HTTP/1.1\r\nHost: h\r\nAccept: a\r\naccept: b\r\nx-Own: 1\r\nX-own: 2\r\n\r\n",
		"GET /p HTTP/1.1\r\nHost: h\r\nno token: 1\r\nmore of-names: 2\r\nNo token: 3\r\n\r\n",
		"POST /p HTTP/1.0\r\nConnection: keep-alive\r\nCookie: a=1\r\nCookie: b=2\r\nContent-Length: 2\r\n\r\nab",
		"PUT /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n",
	}
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var ctx gale.RequestCtx
		ctx.Init(&gale.Request{}, nil, nil)
		h := &ctx.Request.Header
		did := fmt.Sprintf("seed %d: ", seed)
		if n := rnd.IntN(2 * len(heads)); n < len(heads) {
			did += fmt.Sprintf("Read(%q) ", heads[n])
			if err := ctx.Request.Read(bufio.NewReader(strings.NewReader(heads[n]))); err != nil {
				t.Fatal(heads[n], err)
			}
		}
		for range rnd.IntN(8) {
			k, v := names[rnd.IntN(len(names))], values[rnd.IntN(len(values))]
			did += fmt.Sprintf("%q %q ", k, v)
			switch rnd.IntN(12) {
			case 0, 1, 2:
				h.Set(k, v)
			case 3, 4:
				h.Add(k, v)
			case 5:
				h.Del(k)
			case 6:
				h.SetCookie("k", v)
			case 7:
				h.DelAllCookies()
			case 8:
				h.SetContentLength(rnd.IntN(4) - 1)
			case 9:
				h.SetConnectionClose()
			case 10:
				h.SetRequestURI("/" + "longer than before"[:rnd.IntN(7)])
			case 11:
				h.DisableNormalizing()
			}
		}
		want := plainHeader(&ctx)
		host := string(h.Host())
		uri, method := string(h.RequestURI()), string(h.Method())
		r := new(http.Request)
		if err := ConvertRequest(&ctx, r, true); err != nil {
			continue
		}
		if r.URL.Host != "" {
			host = r.URL.Host
		}
		if !reflect.DeepEqual(r.Header, want) || r.Host != host || r.RequestURI != uri || r.Method != method {
			t.Fatalf("%s: %s %s %s\n%q, want\n%q", did, r.Method, r.RequestURI, r.Host, r.Header, want)
		}
	}
}

// The Content-Type comes from what the handler wrote, wherever that is in the body.
func TestTypeOfBody(t *testing.T) {
	for _, tt := range []struct {
		before string
		writes []string
		want   string
	}{
		{"", []string{"<", "html>"}, "text/html; charset=utf-8"},
		{"text ", []string{"<html>"}, "text/html; charset=utf-8"},
		{"<html>", []string{"text"}, "text/plain; charset=utf-8"},
		{"<html>", nil, "text/plain; charset=utf-8"}, // the default: this handler has decided nothing
		{"", []string{"", "\x89PNG\x0D\x0A\x1A\x0A", string(bytes.Repeat([]byte("x"), 2000))}, "image/png"},
	} {
		var ctx gale.RequestCtx
		ctx.Init(&gale.Request{}, nil, nil)
		ctx.Response.SetBodyString(tt.before)
		NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, s := range tt.writes {
				io.WriteString(w, s)
			}
		})(&ctx)
		if got := string(ctx.Response.Header.ContentType()); got != tt.want {
			t.Errorf("%q after %q: %q, want %q", tt.writes, tt.before, got, tt.want)
		}
	}
}
