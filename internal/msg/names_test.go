package msg

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/bytesconv"
)

func TestLookup(t *testing.T) {
	for id := Host; id < numIDs; id++ {
		name := id.String()
		if got := string(bytesconv.AppendCanonicalName(nil, []byte(name))); got != name {
			t.Errorf("%q is not canonical, want %q", name, got)
		}
		if string(id.Name()) != name || len(name) > 27 {
			t.Errorf("name of %q", name)
		}
		for _, s := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			if got := LookupString(s); got != id {
				t.Errorf("Lookup(%q) = %d, want %d", s, got, id)
			}
		}
		// No other byte anywhere may be taken for the one that belongs there.
		for i := range len(name) {
			for c := range 256 {
				b := []byte(name)
				b[i] = byte(c)
				want := Unknown
				if bytesconv.EqualFoldString(b, name) {
					want = id
				}
				if got := Lookup(b); got != want && !(want == Unknown && got != id) {
					t.Errorf("Lookup(%q) = %v", b, got)
				}
			}
		}
		if got := LookupString(name + "x"); got == id {
			t.Errorf("%q with a letter more is not %q", name, name)
		}
	}
	for _, s := range []string{"", "x", "X-Unknown", strings.Repeat("x", 100)} {
		if got := LookupString(s); got != Unknown {
			t.Errorf("Lookup(%q) = %v", s, got)
		}
	}
	if numIDs > 64 {
		t.Error("more names than bits")
	}
}

func TestLookupMethod(t *testing.T) {
	for s, want := range map[string]MethodID{
		"GET": MethodGet, "HEAD": MethodHead, "POST": MethodPost, "PUT": MethodPut, "DELETE": MethodDelete,
		"CONNECT": MethodConnect, "OPTIONS": MethodOptions, "TRACE": MethodTrace, "PATCH": MethodPatch, "QUERY": MethodQuery,
		"": MethodOther, "get": MethodOther, "GETS": MethodOther, "PROPFIND": MethodOther,
	} {
		if got := LookupMethod([]byte(s)); got != want {
			t.Errorf("LookupMethod(%q) = %d, want %d", s, got, want)
		}
	}
}
