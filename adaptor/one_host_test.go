package adaptor_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/tests/harness/peers"
)

// ask sends a request without a body, whose fields are alternating names and values. The host is
// the Host field or :authority. It returns the body of a 200, and the status of another answer.
func ask(t *testing.T, version int, addr, method, target, host string, fields ...string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal("dialing:", err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(time.Minute)) // which only ends a test that hangs
	if version == 2 {
		c := peers.NewH2Conn(t, nc)
		head := []string{":method", method, ":scheme", "http", ":path", target, ":authority", host}
		if method == "CONNECT" {
			head = []string{":method", method, ":authority", host}
		}
		for i, s := range fields {
			if i%2 == 0 {
				s = strings.ToLower(s)
			}
			head = append(head, s)
		}
		c.Last = 1
		stream := c.OpenFields(head...)
		if method != "CONNECT" {
			c.Data(stream, "", true)
		}
		status, _, body := c.Answer(stream)
		if status == "200" {
			return body
		}
		return status
	}
	req := method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n"
	for i := 0; i < len(fields); i += 2 {
		req += fields[i] + ": " + fields[i+1] + "\r\n"
	}
	peers.Put(t, nc, req+"\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	if resp.StatusCode != gale.StatusOK {
		return fmt.Sprint(resp.StatusCode)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error("reading the body:", err)
	}
	return string(b)
}

// onBoth serves h by net/http with both versions of HTTP, and returns the address.
func onBoth(t *testing.T, h http.Handler) string {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = peers.Protocols(1, 2)
	s.Config.ErrorLog = quiet
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// A handler of net/http and the Gale handler after it find the same host. A request for which
// they would not, or whose host Gale's server refuses, is answered with 400.
func TestOneHost(t *testing.T) {
	for _, raw := range []bool{false, true} {
		var before string // what net/http had
		under := adaptor.Config{RawTargets: raw}.NewHTTPHandler(func(ctx *gale.RequestCtx) {
			fmt.Fprintf(ctx, "%s %s", ctx.Host(), ctx.Request.Header.Host())
		})
		addr := onBoth(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if host := r.Header.Get("X-Set-Host"); host != "" {
				r.Host = host
			}
			before = strings.ToLower(r.Host)
			under.ServeHTTP(w, r)
		}))
		for _, row := range []struct {
			versions             string
			method, target, host string
			set                  string // by a handler of net/http
			want                 string
		}{
			{"12", "GET", "/x", "h1", "", "h1"},
			{"12", "GET", "/x", "H1:80", "", "h1:80"},
			{"12", "GET", "/x", "[::1]:80", "", "[::1]:80"},
			{"12", "GET", "/x", "h1", "h2", "h2"},
			{"12", "GET", "/x", "h1,h2", "", "400"},
			{"12", "GET", "/x", "h1%20x", "", "400"},
			{"12", "GET", "/x", "h%31", "", "400"},
			{"2", "GET", "/x", "h1/admin", "", "400"},
			{"12", "GET", "/x", "h1", "h1/admin", "400"},
			{"12", "GET", "http://h1/x", "h1", "", "h1"},
			{"12", "GET", "http://H1/x", "h1", "", "h1"},
			{"1", "GET", "http://h2/x", "h1", "", "h2"}, // net/http takes it from the target
			{"2", "GET", "http://h2/x", "h1", "", "400"},
			{"2", "GET", "https://h2:1?x", "h1", "", "400"},
			{"2", "GET", "http://h1:81/x", "h1", "", "400"},
			{"2", "GET", "http://u:p@h2/x", "h1", "", "400"},
			{"12", "GET", "http://u:p@h1/x", "h1", "", "h1"},
			{"12", "GET", "http://h1/x", "h1", "h2", "400"},
			{"12", "GET", "http://h1/x", "h1", "h1", "h1"},
			{"12", "CONNECT", "h1:80", "h1:80", "h2:80", "400"},
			{"2", "CONNECT", "h1:80", "h1:80", "", "h1:80"},
		} {
			for _, version := range []int{1, 2} {
				if !strings.Contains(row.versions, fmt.Sprint(version)) {
					continue
				}
				var fields []string
				if row.set != "" {
					fields = []string{"X-Set-Host", row.set}
				}
				got := ask(t, version, addr, row.method, row.target, row.host, fields...)
				if got != "400" {
					host, field, _ := strings.Cut(got, " ")
					if got = host; host != before || !strings.EqualFold(host, field) {
						t.Errorf("raw %v, HTTP/%d, %+v: net/http had %q, Host is %q, and the Host field is %q", raw, version, row, before, host, field)
					}
				}
				if got != row.want {
					t.Errorf("raw %v, HTTP/%d, %+v: got %q", raw, version, row, got)
				}
			}
		}
	}
}
