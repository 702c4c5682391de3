package peers

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func Write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// FileTree makes a directory with files of every kind that the tests need.
func FileTree(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "root")
	for _, d := range []string{"sub/deep", "indexed", "empty", ".git", ".well-known"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, data := range map[string]string{
		"../secret.txt": "TOP-SECRET", "hello.txt": Alphabet, "a b%20.txt": "percent", "sub/a.txt": "sub", "sub/<b>&.txt": "x",
		"indexed/index.html": "<p>index</p>", ".git/config": "git", ".hidden": "hidden", ".well-known/acme": "acme", "zero.txt": "",
		"page": "<!DOCTYPE html><p>hi", "big.txt": strings.Repeat("0123456789", 10_000), "big.bin": strings.Repeat("\x00\x01\x02\x03", 25_000),
	} {
		name = filepath.Join(root, name)
		Write(t, name, data)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.txt", filepath.Join(root, "out")); err != nil {
		t.Log(err)
	}
	return root
}

const Alphabet = "abcdefghijklmnopqrstuvwxyz"

// CountedFS counts the files of an os.DirFS that are open.
type CountedFS struct {
	fs.FS
	Opened *atomic.Int32
}

func (c CountedFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.Opened.Add(1)
	return countedFile{f.(*os.File), c.Opened}, nil
}

type countedFile struct {
	*os.File
	open *atomic.Int32
}

func (f countedFile) Close() error {
	f.open.Add(-1)
	return f.File.Close()
}
