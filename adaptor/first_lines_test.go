package adaptor_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
)

// Of several lines of a field that may have one value, a Gale handler has the first one under
// net/http, as net/http and Gale's server do. Connection is a list.
func TestFirstOfManyLines(t *testing.T) {
	h := func(ctx *gale.RequestCtx) {
		r := &ctx.Request.Header
		fmt.Fprintf(ctx, "%s|%s|%q", r.ContentType(), r.UserAgent(), bytes.Join(r.PeekAll("Connection"), []byte(", ")))
	}
	under := adaptor.NewHTTPHandler(h)
	native := map[int]string{}
	for _, out := range outsides[:4] {
		native[out.version] = strings.TrimPrefix(out.serve(t, out.version, h), "http://")
	}
	type key struct{ types, agents string }
	var before key
	addr := onBoth(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before = key{r.Header.Get("Content-Type"), r.Header.Get("User-Agent")}
		under.ServeHTTP(w, r)
	}))
	for _, version := range []int{1, 2} {
		for _, row := range []struct {
			fields []string
			want   string
		}{
			{[]string{"Content-Type", "text/plain", "Content-Type", "application/x-www-form-urlencoded", "User-Agent", "a", "User-Agent", "b"}, `text/plain|a|""`},
			{[]string{"Content-Type", "a/a", "Content-Type", "b/b", "Content-Type", "c/c", "User-Agent", "c"}, `a/a|c|""`},
			{[]string{"Content-Type", "", "Content-Type", "text/plain", "User-Agent", "", "User-Agent", "b"}, `||""`},
			{[]string{"User-Agent", "a", "Connection", "x-a", "Connection", "x-b"}, `|a|"x-a, x-b"`},
		} {
			if version == 2 && strings.Contains(row.want, "x-a") {
				continue // HTTP/2 has no Connection
			}
			for name, server := range map[string]string{"net/http": addr, "Gale": native[version]} {
				if got := ask(t, version, server, "GET", "/", "h", row.fields...); got != row.want {
					t.Errorf("HTTP/%d on %s, %q: got %s, want %s", version, name, row.fields, got, row.want)
				}
			}
			if has := before.types + "|" + before.agents + "|"; !strings.HasPrefix(row.want, has) {
				t.Errorf("HTTP/%d, %q: net/http had %s, want %s", version, row.fields, has, row.want)
			}
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header = http.Header{"content-type": {"b/b"}, "Content-Type": {"a/a", "c/c"}}
	for range 20 { // maps have no order
		var req gale.Request
		adaptor.ConvertNetHTTPRequestToFastHTTPRequest(r, &req)
		if got := string(req.Header.ContentType()); got != "a/a" {
			t.Fatalf("a converted request has %q", got)
		}
	}
}
