package upload

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/static"
)

func TestCheckName(t *testing.T) {
	rules := Rules{Reserved: []string{"start.htm"}, Suffixes: []string{".fasthttp.gz"}, Short: true}
	for _, name := range []string{
		"a", "a.txt", "IMG_0001.JPG", "naïve ü.pdf", "日本語.txt", "a b (1).tar.gz", "-rf", "~x", "a~1b.txt", "x'y;z&.txt", "a%2fb",
		"👩\u200d👩\u200d👧.png", "index.htm", "my index.html", "CONSOLE.txt", "com10", "nully", "a.br", strings.Repeat("x", 255), "longstem~1.html",
	} {
		if err := rules.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, c := range []struct{ name, why string }{
		{"", "no name"},
		{strings.Repeat("x", 256), "longer"},
		{strings.Repeat("ü", 128), "longer"},
		{"a\xffb", "UTF-8"},
		{"\xc0\xaf", "UTF-8"},
		{".", "begin with a dot"}, {"..", "begin with a dot"}, {".htaccess", "begin with a dot"}, {"...", "begin with a dot"},
		{".gale-upload-x", "begin with a dot"},
		{"\u200c.htaccess", "begin with a dot"}, {".\u200dgit", "begin with a dot"}, {"\ufe0f.git", "begin with a dot"},
		{"a.", "end with a dot"}, {"a.\u200d", "end with a dot"},
		{"a ", "space"}, {" a", "space"}, {"a\u00a0", "space"}, {"\u3000", "space"}, {"\u200d", "space"}, {"a \u200d", "space"},
		{"a/b", "/ or"}, {"../x", "/ or"}, {`a\b`, "/ or"}, {`..\x`, "/ or"}, {"/", "/ or"},
		{"a:b", "any of"}, {"C:", "any of"}, {"a.txt::$DATA", "any of"}, {"a*", "any of"}, {"a?", "any of"}, {`a"`, "any of"}, {"<a", "any of"}, {"a>", "any of"}, {"a|b", "any of"},
		{"a\x00b", "control"}, {"a\nb", "control"}, {"a\x1bb", "control"}, {"a\x7f", "control"}, {"a\u0085b", "control"}, {"a\u2028b", "control"},
		{"a\u202egpj.exe", "control"}, {"a\u2066b", "control"}, {"a\u200eb", "control"}, {"a\u061cb", "control"}, {"\ufeffa", "control"}, {"a\u200bb", "control"}, {"a\uf03ab", "control"}, {"a\u00adb", "control"},
		{"CON", "device"}, {"nul.txt", "device"}, {"Aux.tar.gz", "device"}, {"COM¹", "device"}, {"lpt9.x", "device"}, {"PRN .txt", "device"}, {"CONIN$", "device"},
		{"index.html", "special"}, {"INDEX.HTML", "special"}, {"index.\u200dhtml", "special"}, {"404.html", "special"}, {"Start.HTM", "special"}, {"desktop.ini", "special"}, {"AutoRun.inf", "special"},
		{"a.js.fasthttp.gz", "end with"}, {"a.FASTHTTP.GZ", "end with"},
		{"INDEX~1.HTM", "short"}, {"a~12", "short"}, {"GALE-U~1", "short"},
	} {
		err := rules.CheckName(c.name)
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%q: %v, want an error with %q", c.name, err, c.why)
		}
	}
	if err := (&Rules{}).CheckName("INDEX~1.HTM"); err != nil {
		t.Errorf("without short names: %v", err)
	}
}

func TestCheckFolder(t *testing.T) {
	rules := Rules{Short: true}
	for name, ok := range map[string]bool{
		"a": true, "a b": true, "con": true, "index.html": true, "a\u202eb": true,
		"": false, ".": false, "..": false, ".git": false, ".well-known": false, "\u200c.git": false, ".gale-upload-x": false,
		"a/b": false, `a\b`: false, "a\x00": false, "a\xff": false, "GIT~1": false,
	} {
		if err := rules.CheckFolder(name); (err == nil) != ok {
			t.Errorf("%q: %v, want ok %v", name, err, ok)
		}
	}
}

// An accepted name is one segment on every system, is shown by listings, and is stored
// under exactly this name.
func FuzzCheckName(f *testing.F) {
	for _, name := range []string{"a.txt", "..", "a/b", `a\b`, "CON", "nul.txt", ".x", "x.", "a:b", "ü", "\xff", "INDEX~1.HTM", "a\u202eb", "\u200d.a"} {
		f.Add(name)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, name string) {
		rules := Rules{Short: true}
		if rules.CheckName(name) != nil {
			return
		}
		if !utf8.ValidString(name) || len(name) > 255 || strings.ContainsAny(name, "/\\:\x00") || strings.Trim(name, ". ") == "" {
			t.Fatalf("%q was accepted", name)
		}
		for _, windows := range []bool{false, true} {
			if (static.Rules{Windows: windows, HideDot: true}).Check([]byte("/d/"+name)) != static.PathOK {
				t.Fatalf("%q was accepted, but isn't served (windows %v)", name, windows)
			}
		}
		if !filepath.IsLocal(name) || filepath.Base(name) != name || filepath.Dir(filepath.Join("d", name)) != "d" {
			t.Fatalf("%q isn't directly in the folder", name)
		}
		d, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		p, err := d.Create(new(Space))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Discard()
		if err := p.Finish(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Publish(name, false, allowAll); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		list, err := os.ReadDir(dir)
		if err != nil || len(list) != 1 || list[0].Name() != name {
			t.Fatalf("%q was stored as %v, %v", name, list, err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	})
}
