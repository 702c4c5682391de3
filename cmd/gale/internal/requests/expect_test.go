package requests

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

func TestExpectations(t *testing.T) {
	for _, c := range []struct {
		name   string
		expect []string
		status int
		body   string
		field  string // the value of X-Test
		kind   string
	}{
		{"no status", nil, 0, "", "", ""},
		{"ok by default", nil, 200, "", "", ""},
		{"redirect by default", nil, 302, "", "", ""},
		{"not found by default", nil, 404, "", "", KindStatus},
		{"beyond all", nil, 1200, "", "", KindStatus},
		{"the status", []string{"status=404"}, 404, "", "", ""},
		{"not the status", []string{"status=404"}, 200, "", "", KindStatus},
		{"class", []string{"status=2xx"}, 204, "", "", ""},
		{"other class", []string{"status=2XX"}, 301, "", "", KindStatus},
		{"list", []string{"status=200, 301-303", "status=4xx"}, 302, "", "", ""},
		{"beside the list", []string{"status=200,301-303", "status=4xx"}, 304, "", "", KindStatus},
		{"body and default status", []string{"body=ok"}, 500, "ok", "", KindStatus},
		{"body", []string{"body=ok"}, 200, "ok", "", ""},
		{"longer body", []string{"body=ok"}, 200, "okay", "", KindBody},
		{"empty body", []string{"body="}, 200, "", "", ""},
		{"not empty", []string{"body="}, 200, "x", "", KindBody},
		{"body matches", []string{"body~k."}, 200, "okay", "", ""},
		{"body doesn't match", []string{"body~^k"}, 200, "okay", "", KindBody},
		{"expression with =", []string{"body~a=b"}, 200, "a=b", "", ""},
		{"field", []string{"header:x-test=1~2"}, 200, "", "1~2", ""},
		{"other field", []string{"header:X-Test=1"}, 200, "", "12", KindField},
		{"no field", []string{"header:X-Test~."}, 200, "", "", KindField},
		{"field matches", []string{"header:X-Test~^\\d+$"}, 200, "", "12", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := ParseExpectations(c.expect)
			if err != nil {
				t.Fatal(err)
			}
			h := &head.Response{}
			h.Status = c.status
			if c.field != "" {
				h.Put(msg.Unknown, []byte("X-Test"), []byte(c.field), msg.Normalized)
			}
			body := c.body[:min(len(c.body), e.Collect())]
			kind, text := e.Check(h, []byte(body), int64(len(c.body)))
			if kind != c.kind || (text == "") != (kind == "") {
				t.Errorf("%q, %q; want %q", kind, text, c.kind)
			}
		})
	}
}

func TestExpectationErrors(t *testing.T) {
	for _, text := range []string{"", "ok", "status=", "status=20", "status=abc", "status=300-200", "status=9xx-", "body~(", "header:=x", "header:a b=c", "length=5", "status~2"} {
		if _, err := ParseExpectations([]string{text}); err == nil || !strings.Contains(err.Error(), "--expect") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
