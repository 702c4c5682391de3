package bytesconv

import "testing"

func TestAppendCanonicalName(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"host", "Host"},
		{"foo-BAR", "Foo-Bar"},
		{"fOO--bAR", "Foo--Bar"},
		{"-a", "-A"},
		{"a-", "A-"},
		{"1a-2b", "1a-2b"},
		{"a_b-c", "A_b-C"},
		{"WWW-authenticate", "Www-Authenticate"},
		{"foo bar", "foo bar"},
		{"foo:bar", "foo:bar"},
		{"a/b-c", "a/b-c"},
		{"x-y\r\nz", "x-y  z"},
		{"x\x00y", "x y"},
		{"f\xc3\xb6o-bar", "f\xc3\xb6o-bar"},
	} {
		if got := string(AppendCanonicalName([]byte("k="), []byte(tt.in))); got != "k="+tt.want {
			t.Errorf("AppendCanonicalName(%q) = %q, want %q", tt.in, got, "k="+tt.want)
		}
	}
}

func TestIsToken(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want bool
	}{
		{"GET", true}, {"x-y_z.0!#$%&'*+^`|~", true}, {"", false},
		{"a b", false}, {"a:b", false}, {"a\x7f", false}, {"a\x80", false}, {"a\t", false}, {`a"`, false},
	} {
		if got := IsToken([]byte(tt.in)); got != tt.want {
			t.Errorf("IsToken(%q) = %v", tt.in, got)
		}
	}
}
