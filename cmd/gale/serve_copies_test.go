package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// temp makes a folder for temporary files, and names it in the environment.
func temp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	return dir
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func TestCopiesDir(t *testing.T) {
	tmp := temp(t)
	cfg := &serveConfig{compress: true}
	c, err := cfg.makeCopiesDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{c.top, c.root.Name()} {
		if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	removeStale(tmp)
	if !exists(c.root.Name()) {
		t.Error("a folder in use is removed")
	}
	mustWrite(t, filepath.Join(c.root.Name(), "sub", "a.css.fasthttp.gz"), "copy")
	c.remove()
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%v stay, %v", left, err)
	}
	cfg.compress = false
	if c, err = cfg.makeCopiesDir(); err != nil || c.root != nil {
		t.Errorf("without compression: %+v, %v", c, err)
	}
	c.remove()
}

func TestRemoveStale(t *testing.T) {
	tmp := temp(t)
	outside := t.TempDir()
	mustWrite(t, filepath.Join(outside, "lock"), "")
	mustWrite(t, filepath.Join(outside, "precious"), "")
	in := func(name string) string { return filepath.Join(tmp, name) }
	long := time.Now().Add(-2 * time.Hour)

	mustWrite(t, in("gale-serve-dead/lock"), "")
	mustWrite(t, in("gale-serve-dead/copies/sub/a.gz"), "copy")
	mustWrite(t, in("gale-serve-new/copies/a.gz"), "copy") // its process will lock it soon
	mustWrite(t, in("gale-serve-old/copies/a.gz"), "copy")
	if err := os.Chtimes(in("gale-serve-old"), long, long); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, in("gale-serve-file"), "a file")
	mustWrite(t, in("other/lock"), "")
	gone := []string{"gale-serve-dead", "gale-serve-old"}
	stay := []string{"gale-serve-new", "gale-serve-file", "other/lock"}
	if os.Symlink(outside, in("gale-serve-link")) == nil {
		stay = append(stay, "gale-serve-link")
		mustWrite(t, in("gale-serve-inner/lock"), "")
		if err := os.Symlink(outside, in("gale-serve-inner/copies")); err != nil {
			t.Fatal(err)
		}
		gone = append(gone, "gale-serve-inner")
		if err := os.Mkdir(in("gale-serve-lock"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, "lock"), in("gale-serve-lock/lock")); err != nil {
			t.Fatal(err)
		}
		stay = append(stay, "gale-serve-lock/lock")
	}
	removeStale(tmp)
	for _, name := range gone {
		if exists(in(name)) {
			t.Errorf("%s stays", name)
		}
	}
	for _, name := range stay {
		if !exists(in(name)) {
			t.Errorf("%s is removed", name)
		}
	}
	if !exists(filepath.Join(outside, "precious")) || !exists(filepath.Join(outside, "lock")) {
		t.Error("a link was followed")
	}
	removeStale(filepath.Join(tmp, "none"))
}

// Many starts at a time, with what dead ones left, don't remove each other's folders.
func TestRemoveStaleConcurrently(t *testing.T) {
	tmp := temp(t)
	var wg sync.WaitGroup
	for i := range 8 {
		mustWrite(t, filepath.Join(tmp, "gale-serve-dead"+string(rune('a'+i)), "lock"), "")
		wg.Go(func() {
			for range 20 {
				c, err := (&serveConfig{compress: true}).makeCopiesDir()
				if err != nil {
					t.Error(err)
					return
				}
				removeStale(tmp)
				if !exists(c.root.Name()) || !exists(filepath.Join(c.top, copiesLock)) {
					t.Error("a folder in use is removed")
				}
				c.remove()
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("%v stay, %v", left, err)
	}
}

// The next start removes what a killed process left.
func TestServeAfterKill(t *testing.T) {
	dir := site(t, map[string]string{"a.css": strings.Repeat("a{} ", 100)})
	p := serve(t, dir)
	p.do("GET", "/a.css", "Accept-Encoding: gzip")
	old, err := filepath.Glob(filepath.Join(p.tmp, "gale-serve-*"))
	if err != nil || len(old) != 1 {
		t.Fatalf("%v, %v", old, err)
	}
	_ = p.cmd.Process.Kill()
	p.wait()
	if !exists(old[0]) {
		t.Fatal("a killed process removed its folder")
	}
	next := exec.Command(galeBinary, "serve", "-addr", "127.0.0.1:0", dir)
	next.Env = p.cmd.Env
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = next.Process.Kill()
		_ = next.Wait()
	}()
	await.Until(t, "the folder of the killed process to be removed", func() bool { return !exists(old[0]) })
}

// If the folder for copies is removed and another one takes its name, nothing is written there,
// and files are served without copies.
func TestServeWithoutCopiesDir(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder that is open stays")
	}
	text := strings.Repeat("a{} ", 100)
	dir := site(t, map[string]string{"a.css": text, "b.css": text, "d/c.css": text})
	p := serve(t, dir)
	var found []string
	for deadline := time.Now().Add(patience); len(found) == 0; { // of a file that changed just now there is no copy
		if time.Now().After(deadline) {
			t.Fatal("there is no copy")
		}
		p.do("GET", "/a.css", "Accept-Encoding: gzip")
		var err error
		if found, err = filepath.Glob(filepath.Join(p.tmp, "gale-serve-*", "copies", "*")); err != nil {
			t.Fatal(err)
		}
	}
	copies := filepath.Dir(found[0])
	victim := t.TempDir()
	if err := errors.Join(os.RemoveAll(filepath.Dir(copies)), os.Mkdir(filepath.Dir(copies), 0o700), os.Symlink(victim, copies)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/a.css", "/b.css", "/d/c.css"} {
		resp, body := p.do("GET", path, "Accept-Encoding: gzip")
		if resp.StatusCode != 200 || resp.Header.Get("Content-Encoding") != "gzip" || len(body) == 0 {
			t.Errorf("%s: %d, %d bytes in %q", path, resp.StatusCode, len(body), resp.Header.Get("Content-Encoding"))
		}
	}
	if names, err := os.ReadDir(victim); err != nil || len(names) > 0 {
		t.Errorf("written into another folder: %v, %v", names, err)
	}
}
