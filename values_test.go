package gale

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/door"
)

func TestArgsParseLimit(t *testing.T) {
	var a Args
	a.Parse(strings.Repeat("k=v&", maxParsedArgs+5))
	if a.Len() != maxParsedArgs {
		t.Errorf("%d arguments", a.Len())
	}
	a.Add("one", "more")
	if !a.Has("one") {
		t.Error("the limit is for what is parsed, not for what is added")
	}
}

func TestParseCookieDate(t *testing.T) {
	want := time.Date(1994, time.November, 6, 8, 49, 37, 0, time.UTC)
	for _, s := range []string{
		"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
		"06 nov 1994 8:49:37", "8:49:37 1994 NOVEMBER 6th", "sun,6-nov-94,08:49:37;gmt+x",
	} {
		if got, ok := parseCookieDate([]byte(s)); !ok || !got.Equal(want) {
			t.Errorf("%q: %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{
		"", "x", "06 Nov 1994", "06 Nov 08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37", "32 Nov 1994 08:49:37", "31 Nov 1994 08:49:37",
		"06 Nov 1600 08:49:37", "06 Nov 1994 24:49:37", "06 Nov 1994 08:60:37", "06 Nov 1994 08:49:60", "0 Nov 1994 08:49:37", "06 Foo 1994 08:49:37",
	} {
		if got, ok := parseCookieDate([]byte(s)); ok {
			t.Errorf("%q: %v, want no date", s, got)
		}
	}
	if got, _ := parseCookieDate([]byte("1 Jan 00 0:0:0")); got.Year() != 2000 {
		t.Errorf("year 00 is %d", got.Year())
	}
}

func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{ErrBodyTooLarge, "gale: body size exceeds the given limit"},
		{ErrTimeout, "gale: timeout"},
		{EscapeError("%zz"), `gale: invalid url escape "%zz"`},
		{InvalidHostError("a b"), `gale: invalid character "a b" in host name`},
		{ErrNothingRead{io.ErrClosedPipe}, "io: read/write on closed pipe"},
		{&ErrSmallBuffer{}, ErrSmallReadBuffer.Error()},
		{ErrBrokenChunk{}, "gale: broken chunk"},
		{ErrNothingRead{}, "gale: nothing read"},
		{ErrBodyStreamWritePanic{}, "gale: panic while writing body stream"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%T: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestErrorWrapping(t *testing.T) {
	if !errors.Is(ErrBrokenChunk{io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF) {
		t.Error("ErrBrokenChunk hides the error it wraps")
	}
	var small *ErrSmallBuffer
	if !errors.As(error(&ErrSmallBuffer{ErrSmallReadBuffer}), &small) || !errors.Is(small, ErrSmallReadBuffer) {
		t.Error("ErrSmallBuffer can't be told by type and sentinel")
	}
	var timeout interface{ Timeout() bool }
	if !errors.As(error(ErrTimeout), &timeout) || !timeout.Timeout() {
		t.Error("ErrTimeout isn't a timeout")
	}
}

func TestStatusMessage(t *testing.T) {
	for code := -1; code < 1000; code++ {
		got, std := StatusMessage(code), http.StatusText(code)
		switch code {
		case StatusTeapot, StatusRequestURITooLong, StatusRequestHeaderFieldsTooLarge, StatusRequestedRangeNotSatisfiable:
			if got == unknownStatus {
				t.Errorf("%d has no message", code)
			}
			continue
		}
		if std == "" {
			std = unknownStatus
		}
		if got != std {
			t.Errorf("%d: %q, want %q", code, got, std)
		}
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		if !StatusCodeIsRedirect(code) {
			t.Errorf("%d is a redirect", code)
		}
	}
	for _, code := range []int{200, 300, 304, 305, 306, 404} {
		if StatusCodeIsRedirect(code) {
			t.Errorf("%d is no redirect", code)
		}
	}
}

func FuzzParseHTTPDate(f *testing.F) {
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT")
	f.Add("Thu, 29 Feb 1900 23:59:59 GMT")
	f.Add("Sunday, 06-Nov-94 08:49:37 GMT")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseHTTPDate([]byte(s))
		want, werr := http.ParseTime(s)
		// net/http accepts any name for the time zone in the format of RFC 850.
		if err == nil && (werr != nil || !got.Equal(want)) || err != nil && werr == nil && len(s) == len(layoutIMF) && s[3] == ',' {
			t.Fatalf("%q: %v, %v; net/http: %v, %v", s, got, err, want, werr)
		}
		if err == nil {
			if out := string(AppendHTTPDate(nil, got)); out != want.UTC().Format(http.TimeFormat) {
				t.Fatalf("%q is printed as %q", s, out)
			}
		}
	})
}

// What a path that keeps encoded slashes is, and how it is written.
func TestPathKeepsSlashes(t *testing.T) {
	for _, tt := range []struct{ in, path, written string }{
		{"/a", "/a", "/a"},
		{"/a%2Fb%5c%62", "/a%2Fb%5cb", "/a%2Fb%5cb"},
		{"/@scope%2fname?a=%2f", "/@scope%2fname", "/@scope%2fname?a=%2f"},
		{"/a%252fb%25", "/a%2fb%", "/a%252fb%25"},
		{"/%25%32f", "/%2f", "/%252f"},
		{"/a%20b%2f/%2e%2e/c%2fd", "/c%2fd", "/c%2fd"},
		{"/a%2f..%2fb", "/a%2f..%2fb", "/a%2f..%2fb"},
		{"/100%", "/100%", "/100%25"},
		{"/%2", "/%2", "/%252"},
		{"/%zz%2f", "/%zz%2f", "/%25zz%2f"},
	} {
		var req Request
		door.KeepSlashes(&req)
		req.SetRequestURI(tt.in)
		var dst URI
		req.URI().CopyTo(&dst)
		for name, u := range map[string]*URI{"URI": req.URI(), "a copy": &dst} {
			path, _, _ := strings.Cut(tt.written, "?")
			if got := string(u.Path()); got != tt.path {
				t.Errorf("%s of %q: path %q, want %q", name, tt.in, got, tt.path)
			}
			if got := string(u.RequestURI()); got != tt.written {
				t.Errorf("%s of %q: written %q, want %q", name, tt.in, got, tt.written)
			}
			u.Update("x?y")
			if got, want := string(u.RequestURI()), path[:strings.LastIndexByte(path, '/')+1]+"x?y"; got != want {
				t.Errorf("%s of %q: changed to %q, want %q", name, tt.in, got, want)
			}
		}
		req.SetRequestURI("/" + "%2f")
		if req.RequestURI(); string(req.URI().Path()) != "/%2f" {
			t.Errorf("%q: a new target has the path %q", tt.in, req.URI().Path())
		}
		if req.Reset(); req.keepsSlash || req.uri.keepsSlash {
			t.Errorf("%q: Reset keeps the rule", tt.in)
		}
	}
}

// Slices that were returned earlier don't change when other parts change.
func TestURISlicesStay(t *testing.T) {
	var u URI
	if err := u.Parse([]byte("host"), []byte("/path?query")); err != nil {
		t.Fatal(err)
	}
	host, path, query := u.Host(), u.Path(), u.QueryString()
	for i := range 3000 {
		u.SetPath(strings.Repeat("x", i%100))
		u.SetQueryStringBytes(u.Path())
		u.SetHash("hash")
	}
	if string(host) != "host" || string(path) != "/path" || string(query) != "query" || string(u.Host()) != "host" {
		t.Errorf("%q %q %q", host, path, query)
	}
	if cap(u.buf) > 4*maxKeptScratch {
		t.Errorf("the arena grew to %d bytes", cap(u.buf))
	}
}
