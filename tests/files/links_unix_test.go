//go:build unix

package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// No link leads out of a tree, whether it is an os.DirFS, derived from one, or a tree
// that resolves its own links.
func TestFSConfinement(t *testing.T) {
	base := t.TempDir()
	dir, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	for _, d := range []string{dir, outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	peers.Write(t, filepath.Join(outside, "secret"), "secret")
	peers.Write(t, filepath.Join(dir, "in"), "in")
	for link, to := range map[string]string{
		"rel": "../outside/secret", "abs": filepath.Join(outside, "secret"), "dir": "../outside", "ok": "in", "loop": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	sub, err := fs.Sub(os.DirFS(base), "root")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for link, to := range map[string]string{
		"up": "..", "deep/in": "../in", "deep/again": "../deep/in", "deep/out": "../../outside/secret", "through": "deep/../../outside/secret",
		"deeper": "deep", "back": "deeper/../in", "self": "../root/in", "dot": "./deep/./in", "slash": "/in",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for what, settings := range map[string]*gale.FS{
		"os.DirFS":          {FS: os.DirFS(dir)},
		"os.DirFS and Root": {FS: os.DirFS(base), Root: "root"},
		"fs.Sub":            {FS: sub},
		"os.Root":           {FS: root.FS()},
		"any, links out":    {FS: os.DirFS(dir), AllowSymlinksOutsideRoot: true},
		"sub, links out":    {FS: sub, AllowSymlinksOutsideRoot: true},
	} {
		settings.GenerateIndexPages, settings.Compress = true, true
		for _, h := range []gale.RequestHandler{
			settings.NewRequestHandler(),
			func(ctx *gale.RequestCtx) { gale.ServeFS(ctx, settings.FS, string(ctx.Path())) },
		} {
			for target, want := range map[string]string{
				"/in": "in", "/ok": "in", "/deep/in": "in", "/deep/again": "in", "/back": "in", "/deeper/in": "in", "/dot": "in",
				"/rel": "", "/abs": "", "/dir/secret": "", "/dir/": "", "/up/": "", "/up/outside/secret": "", "/loop": "",
				"/deep/out": "", "/through": "", "/slash": "", "/deeper/out": "",
			} {
				for _, field := range []string{"A: b", "Accept-Encoding: gzip"} {
					a := harness.Ask(t, h, "GET", target, field)
					if settings.AllowSymlinksOutsideRoot {
						if target == "/rel" && a.Body != "secret" {
							t.Errorf("%s: %s isn't followed", what, target)
						}
						continue
					}
					if want != "" && a.Body != want || want == "" && a.Status != 404 {
						t.Errorf("%s: %s: %d, %q, want %q", what, target, a.Status, a.Body, want)
					}
				}
			}
			if list := harness.Ask(t, h, "GET", "/").Body; !settings.AllowSymlinksOutsideRoot && (!strings.Contains(list, "./ok") || strings.Contains(list, "./rel") || strings.Contains(list, "./up")) {
				t.Errorf("%s: the listing is %s", what, list)
			}
			if settings.AllowSymlinksOutsideRoot || settings.Root != "" {
				break // ServeFS has no such settings
			}
		}
	}
}
