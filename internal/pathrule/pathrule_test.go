package pathrule

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	for _, row := range []struct {
		target string
		want   Parts
	}{
		{"", 0}, {"/", 0}, {"*", 0}, {"/a/b.c", 0}, {"/.a/..b/...", 0}, {"/a./b../c", 0}, {"/a?/../%2f//", 0}, {"?/..", 0}, {"..", 0},
		{"/a;b=c/d", 0}, {"/a%3bb", 0}, {"/%25", 0}, {"/%252e%252e/", 0}, {"/%", 0}, {"/%2", 0}, {"/%zz.", 0}, {"/a%23b", 0}, {"/%3f", 0},
		{"http://h/a", 0}, {"http://h", 0}, {"h:80", 0}, {"http://h/a:b", 0}, {"/img/http://h/x", 0}, {"/x://", 0}, {"http://h/x://admin", 0}, {"/x:////a", EmptySegment},
		{"/.", DotSegment}, {"/..", DotSegment}, {"/a/./b", DotSegment}, {"/a/../b", DotSegment}, {"/..?", DotSegment},
		{"/%2e", DotSegment}, {"/%2E%2e/", DotSegment}, {"/.%2e", DotSegment}, {"/a/%2e./b?c", DotSegment},
		{"/..;a", DotSegment}, {"/a/..;b/c", DotSegment}, {"/a;..", DotSegment}, {"/..%3b/", DotSegment}, {"/a%3B..", DotSegment},
		{"/a%2f..", DotSegment | EncodedSlash}, {"/..%2Fa", DotSegment | EncodedSlash}, {"/a%5c..%5Cb", DotSegment | EncodedSlash},
		{"/%2e%2e%2fa", DotSegment | EncodedSlash}, {`/a\..`, DotSegment | NoPathByte}, {"/..#", DotSegment | NoPathByte}, {"/..%00", DotSegment | NoPathByte},
		{"http://h/../a", DotSegment}, {"http://h/%2e", DotSegment},
		{"/a%2fb", EncodedSlash}, {"/a%5Cb", EncodedSlash}, {"/%2f%2F", EncodedSlash}, {"/a%2f/b", EncodedSlash},
		{`/a\b`, NoPathByte}, {"/a#b", NoPathByte}, {"/#", NoPathByte}, {"/a%00", NoPathByte},
		{"//", EmptySegment}, {"//a", EmptySegment}, {"/a//b", EmptySegment}, {"/a//", EmptySegment}, {"/a:///b", EmptySegment}, {"http://h//a", EmptySegment},
	} {
		if got := Find(row.target); got != row.want {
			t.Errorf("%q: %04b, want %04b", row.target, got, row.want)
		}
		if got := Find([]byte(row.target)); got != row.want {
			t.Errorf("%q as bytes: %04b, want %04b", row.target, got, row.want)
		}
		if got := find(row.target); got != row.want {
			t.Errorf("%q: find says %04b, want %04b", row.target, got, row.want)
		}
		for rule := Parts(0); rule < 16; rule++ {
			if err := Check(row.target, rule); (err != nil) != (row.want&rule != 0) {
				t.Errorf("%q by the rule %04b: %v", row.target, rule, err)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	for _, row := range []struct{ got, want Parts }{
		{Choose(Guarded, false, false), Guarded}, {Choose(Default, true, false), Strict},
		{Choose(Guarded, false, true), 0}, {Choose(Default, true, true), 0},
		{Default.HandedOn(false), Default}, {Default.HandedOn(true), Default | EncodedSlash}, {Parts(0).HandedOn(true), 0},
	} {
		if row.got != row.want {
			t.Errorf("%04b, want %04b", row.got, row.want)
		}
	}
}

// FuzzFind compares the short way with the long one, and checks what the rules promise:
// readers that decode, merge slashes and remove dot segments in any order, or don't, find a
// path below the same prefix.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"/admin/%2e%2e/x", "/x/..%2fadmin/", "//admin/", "/admin%2fy", "/a;/../", `/\`, "/%252e%252e/", "/a#", "/%00", "http://h/..;/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		short, long := Find(target), find(target)
		if short != long {
			t.Fatalf("%q: %04b, in the long way %04b", target, short, long)
		}
		raw, _, _ := strings.Cut(target, "?")
		decoded, err := url.PathUnescape(raw)
		if err != nil || !strings.HasPrefix(raw, "/") || long&Default != 0 {
			return
		}
		// As RequestCtx.Path has it. If that isn't below the prefix, no other reading is.
		shown := path.Clean("/" + decoded)
		if strings.HasSuffix(decoded, "/") && shown != "/" {
			shown += "/"
		}
		first := strings.SplitAfterN(shown, "/", 3)
		prefix := strings.Join(first[:min(2, len(first))], "")
		// A reader that drops parameters finds what a guard allows below the same prefix.
		if long&Strict == 0 && !strings.Contains(prefix, ";") {
			if p := first[:min(2, len(first))]; !strings.HasPrefix(dropParameters(decoded), strings.Join(p, "")) {
				t.Errorf("%q is %q below %q, and without parameters %q", target, shown, prefix, dropParameters(decoded))
			}
		}
		for name, reading := range map[string]string{
			"decoded": decoded, "cleaned and decoded": unescape(path.Clean(raw)), "decoded and cleaned": path.Clean(decoded),
		} {
			protected := strings.SplitAfterN(strings.TrimPrefix(reading, "/"), "/", 2)
			if name == "decoded" && long&EmptySegment != 0 || len(protected) < 2 || protected[0] == "/" {
				continue
			}
			if p := "/" + protected[0]; p != prefix {
				t.Errorf("%q is %q below %q, and %s it is %q below %q", target, shown, prefix, name, reading, p)
			}
		}
	})
}

// dropParameters removes what follows ";" in each segment.
func dropParameters(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i], _, _ = strings.Cut(s, ";")
	}
	return strings.Join(segments, "/")
}

func unescape(s string) string {
	s, _ = url.PathUnescape(s)
	return s
}

func TestFindDoesNotAllocate(t *testing.T) {
	b := []byte("/a/%2e%2e/b%2f//c;d?e")
	if n := testing.AllocsPerRun(100, func() { Find(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
