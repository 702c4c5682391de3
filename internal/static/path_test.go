package static

import (
	"io/fs"
	"strings"
	"testing"
)

func TestRulesCheck(t *testing.T) {
	for _, tt := range []struct {
		path          string
		unix, windows PathVerdict
	}{
		{"/", PathOK, PathOK},
		{"", PathOK, PathOK},
		{"/a.txt", PathOK, PathOK},
		{"/a b/ü.txt", PathOK, PathOK},
		{"/..a/b..c", PathOK, PathOK},
		{"/a/./b", PathOK, PathOK},
		{"/a//b", PathOK, PathOK},
		{"/.hidden", PathOK, PathOK},
		{"/a\x00.txt", PathNUL, PathNUL},
		{"/..", PathDotDot, PathDotDot},
		{"../x", PathDotDot, PathDotDot},
		{"/a/../b", PathDotDot, PathDotDot},
		{`/a/..\b`, PathOK, PathForeign},
		{`\..\b`, PathOK, PathForeign},
		{`/a\b`, PathOK, PathForeign},
		{`\\host\share`, PathOK, PathForeign},
		{"/.. /x", PathOK, PathForeign},
		{"/.../x", PathOK, PathForeign},
		{"/. ./x", PathOK, PathForeign},
		{"/a./x", PathOK, PathForeign},
		{"/a.txt.", PathOK, PathForeign},
		{"/a.txt ", PathOK, PathForeign},
		{"/a.txt::$DATA", PathOK, PathForeign},
		{"/a.txt:secret", PathOK, PathForeign},
		{"/C:/windows/win.ini", PathOK, PathForeign},
		{"/CON", PathOK, PathForeign},
		{"/con", PathOK, PathForeign},
		{"/NUL.txt", PathOK, PathForeign},
		{"/x/aux.tar.gz", PathOK, PathForeign},
		{"/COM1", PathOK, PathForeign},
		{"/com9.txt", PathOK, PathForeign},
		{"/LPT¹", PathOK, PathForeign},
		{"/PRN .txt", PathOK, PathForeign},
		{"/CONOUT$", PathOK, PathForeign},
		{"/CON/x", PathOK, PathForeign},
		{"/COM", PathOK, PathOK},
		{"/COM12", PathOK, PathOK},
		{"/CONSOLE", PathOK, PathOK},
		{"/nul2", PathOK, PathOK},
		{"/a\tb", PathOK, PathForeign},
		{"/a?b", PathOK, PathForeign},
		{"/a|b", PathOK, PathForeign},
		{"/GIT~1/config", PathOK, PathShort},
		{"/git~1", PathOK, PathShort},
		{"/a/SSH~12/id_rsa", PathOK, PathShort},
		{"/INDEX~1.HTM", PathOK, PathShort},
		{"/ÄÖÜÄÖÜ~1", PathOK, PathShort},
		{"/~1", PathOK, PathShort},
		{"/GIT~1/a:b", PathOK, PathForeign},
		{"/GIT~1/../b", PathDotDot, PathDotDot},
		{"/a~b.txt", PathOK, PathOK},
		{"/notes~", PathOK, PathOK},
		{"/~user/x", PathOK, PathOK},
		{"/long-name~1.html", PathOK, PathOK},
		{"/a~1.html", PathOK, PathOK},
	} {
		if got := (Rules{}).Check([]byte(tt.path)); got != tt.unix {
			t.Errorf("%q on unix: got %d, want %d", tt.path, got, tt.unix)
		}
		if got := (Rules{Windows: true}).Check([]byte(tt.path)); got != tt.windows {
			t.Errorf("%q on Windows: got %d, want %d", tt.path, got, tt.windows)
		}
	}
}

func TestRulesVolume(t *testing.T) {
	r := Rules{Windows: true, Volume: true}
	for path, want := range map[string]PathVerdict{
		"C:/x": PathOK, "/c:/x": PathOK, "C:/x:y": PathForeign, "C:x": PathForeign, "/x/C:/y": PathForeign, "CC:/x": PathForeign, "C:/../x": PathDotDot,
	} {
		if got := r.Check([]byte(path)); got != want {
			t.Errorf("%q: got %d, want %d", path, got, want)
		}
	}
}

func TestRulesHideDot(t *testing.T) {
	for _, windows := range []bool{false, true} {
		r := Rules{Windows: windows, HideDot: true}
		for path, want := range map[string]PathVerdict{
			"/.git/config": PathHidden, "/a/.env": PathHidden, "/.well-known/acme": PathOK, "/a/.well-known/x": PathHidden,
			"/.well-known/.x": PathHidden, "/./a": PathOK, "/a.b": PathOK, "//.git": PathHidden,
			// File systems that ignore characters open .git and .env for these.
			"/\u200c.git/config": PathHidden, "/a/\u200d\ufeff.env": PathHidden, "/\u00ad.env": PathHidden, "/\u034f.env": PathHidden,
			"/.\u200cgit": PathHidden, "/\ufe0f.well-known/a": PathHidden,
			// An emoji with joiners, a word of Persian, names of other scripts.
			"/👨\u200d👩\u200d👧.png": PathOK, "/می\u200cخواهم.txt": PathOK, "/\u200cمی.txt": PathOK, "/é.env": PathOK, "/\xff.env": PathOK,
		} {
			if got := r.Check([]byte(path)); got != want {
				t.Errorf("%q, windows=%v: got %d, want %d", path, windows, got, want)
			}
		}
	}
}

func TestAppendName(t *testing.T) {
	for path, want := range map[string]string{
		"": ".", "/": ".", "//": ".", "/a": "a", "/a/": "a", "a//b": "a/b", "/./a/./b/.": "a/b", "/a b": "a b",
	} {
		if got := string(AppendName(nil, []byte(path))); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"/a/../b", `\..\`, "/.../x", "//a/./", "/CON.txt", "/a:b", "/\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, path []byte) {
		name := string(AppendName(nil, path))
		if (Rules{}).Check(path) == PathOK {
			// package fs wants UTF-8, the file system doesn't.
			if clean := strings.ToValidUTF8(name, "_"); !fs.ValidPath(clean) {
				t.Fatalf("%q passed, its name is %q", path, name)
			}
		}
		if (Rules{Windows: true}).Check(path) == PathOK {
			if (Rules{}).Check(path) != PathOK {
				t.Fatalf("%q passed on Windows only", path)
			}
			if strings.ContainsAny(name, "\\:\x00") || strings.HasSuffix(name, " ") {
				t.Fatalf("%q passed on Windows, its name is %q", path, name)
			}
		}
	})
}

func TestAppendLocation(t *testing.T) {
	for _, tt := range []struct{ path, query, want string }{
		{"/sub", "", "/sub/"},
		{"/sub", "a=b", "/sub/?a=b"},
		{"//evil.example/static", "", "/evil.example/static/"},
		{`/\evil.example`, "", "/evil.example/"},
		{`\\evil.example`, "", "/evil.example/"},
		{"", "", "/"},
		{"/", "", "/"},
		{"/a b%ü", "", "/a%20b%25%C3%BC/"},
		{"/a\r\nX: y", "", "/a%0D%0AX%3A%20y/"},
	} {
		if got := string(AppendLocation(nil, []byte(tt.path), []byte(tt.query))); got != tt.want {
			t.Errorf("%q?%q: got %q, want %q", tt.path, tt.query, got, tt.want)
		}
	}
}
