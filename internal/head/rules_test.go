package head

import (
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

func TestExpectation(t *testing.T) {
	for _, tt := range []struct {
		fields []string
		want   msg.Expectation
	}{
		{nil, msg.ExpectNone},
		{[]string{"100-continue"}, msg.ExpectContinue},
		{[]string{"100-Continue", "100-continue"}, msg.ExpectContinue},
		{[]string{"100-continue", "x"}, msg.ExpectOther},
		{[]string{"100-continue, 100-continue"}, msg.ExpectContinue},
		{[]string{"", ", 100-continue,"}, msg.ExpectContinue},
		{[]string{"x, 100-continue"}, msg.ExpectOther},
		{[]string{""}, msg.ExpectOther},
		{[]string{",", ""}, msg.ExpectOther},
	} {
		var f msg.Fields
		for _, v := range tt.fields {
			f.PutMore(msg.Expect, msg.Expect.Name(), []byte(v), msg.Normalized)
		}
		if got := Expectation(&f); got != tt.want {
			t.Errorf("Expect %q is %d, want %d", tt.fields, got, tt.want)
		}
	}
}

func TestParseConnection(t *testing.T) {
	for in, want := range map[string]msg.Conn{
		"":                    0,
		"close":               msg.ConnClose,
		"Keep-Alive, Upgrade": msg.ConnKeepAlive | msg.ConnUpgrade,
		" ,close,, x":         msg.ConnClose | msg.ConnOther,
		"a b":                 msg.ConnOther,
	} {
		if got := ParseConnection([]byte(in)); got != want {
			t.Errorf("Connection %q is %b, want %b", in, got, want)
		}
	}
}

func TestForbiddenTrailer(t *testing.T) {
	for name, want := range map[string]bool{
		"content-length": true, "Host": true, "AGE": true, "Www-Authenticate": true, "Set-Cookie": true,
		"Date": false, "X-Checksum": false, "Etag": false, "": false,
	} {
		if got := ForbiddenTrailer([]byte(name)); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestStatusHasBody(t *testing.T) {
	for status, want := range map[int]bool{0: true, 100: false, 199: false, 200: true, 204: false, 304: false, 404: true, 1000: true} {
		if got := StatusHasBody(status); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}
