package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// FuzzFSTarget proves for any target that nothing outside of the root is served, hidden
// files stay hidden, and no redirect leads to another site.
func FuzzFSTarget(f *testing.F) {
	for _, s := range []string{
		"/", "/sub", "//evil.example/..%2fsub", "/../secret.txt", "/%2e%2e/secret.txt", "/..%5csecret.txt", "/out", "/sub/%2e%2e/%2e%2e/secret.txt",
		"/.git/config", "/%2egit/config", "/sub/..%2f.git/config", "/hello.txt%00", "http://h/../secret.txt", "/\\evil.example", "*", "h:443",
	} {
		f.Add(s, "")
		f.Add(s, "bytes=0-1,5-6")
	}
	base := f.TempDir()
	root := filepath.Join(base, "root")
	for _, d := range []string{"sub", ".git"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o700); err != nil {
			f.Fatal(err)
		}
	}
	for name, data := range map[string]string{"../secret.txt": "TOP-SECRET", ".git/config": "TOP-SECRET", "hello.txt": peers.Alphabet, "sub/a": "a"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	os.Symlink("../secret.txt", filepath.Join(root, "out"))
	h := (&gale.FS{Root: root, HideDotFiles: true, AcceptByteRange: true, GenerateIndexPages: true, GenerateETag: true, CacheDuration: time.Minute}).NewRequestHandler()
	f.Fuzz(func(t *testing.T, target, ranges string) {
		a := harness.Ask(t, h, "GET", target, "Range: "+ranges)
		if strings.Contains(a.Body, "TOP-SECRET") || strings.Contains(a.Body, ".git") {
			t.Errorf("%q: %d, %q", target, a.Status, a.Body)
		}
		if l := a.Get("Location"); strings.HasPrefix(l, "//") || strings.HasPrefix(l, `/\`) || strings.ContainsAny(l, "\r\n\x00") || l != "" && l[0] != '/' {
			t.Errorf("%q: Location: %q", target, l)
		}
		switch a.Status {
		case 200, 206, 302, 400, 404, 416, 500:
		default:
			t.Errorf("%q: status %d", target, a.Status)
		}
		if a.Status == 500 {
			t.Errorf("%q: a client's path passed for a rewritten one", target)
		}
	})
}
