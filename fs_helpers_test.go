package gale

import (
	"bytes"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func write(t *testing.T, name, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustStat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// countedFS counts the files of an os.DirFS that are open.
type countedFS struct {
	fs.FS
	open *atomic.Int32
}

func (c countedFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	return countedFile{f.(*os.File), c.open}, nil
}

type countedFile struct {
	*os.File
	open *atomic.Int32
}

func (f countedFile) Close() error {
	f.open.Add(-1)
	return f.File.Close()
}

// fsAnswer is a response in the form that tests need.
type fsAnswer struct {
	status int
	header *ResponseHeader
	body   string
}

func (a *fsAnswer) get(name string) string { return string(a.header.Peek(name)) }

// ask sends a request to h. Fields are given as "Name: value".
func ask(t *testing.T, h RequestHandler, method, target string, fields ...string) *fsAnswer {
	t.Helper()
	var req Request
	req.Header.SetMethod(method)
	req.SetRequestURI(target)
	req.Header.SetHost("example.com")
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		req.Header.Add(name, value)
	}
	var ctx RequestCtx
	ctx.Init(&req, nil, discardLogger{})
	h(&ctx)
	a := &fsAnswer{status: ctx.Response.StatusCode(), header: &ctx.Response.Header}
	if s := ctx.Response.BodyStream(); s != nil {
		var b bytes.Buffer
		if _, err := io.Copy(&b, s); err != nil {
			t.Errorf("%s %s: body: %v", method, target, err)
		}
		a.body = b.String()
		if err := ctx.Response.CloseBodyStream(); err != nil {
			t.Errorf("%s %s: close: %v", method, target, err)
		}
	} else if !ctx.Response.SkipBody {
		a.body = string(ctx.Response.Body())
	}
	return a
}

type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}

// fsTree makes a directory with files of every kind that the tests need.
func fsTree(t *testing.T) string {
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
		"../secret.txt": "TOP-SECRET", "hello.txt": alphabet, "a b%20.txt": "percent", "sub/a.txt": "sub", "sub/<b>&.txt": "x",
		"indexed/index.html": "<p>index</p>", ".git/config": "git", ".hidden": "hidden", ".well-known/acme": "acme", "zero.txt": "",
		"page": "<!DOCTYPE html><p>hi", "big.txt": strings.Repeat("0123456789", 10_000), "big.bin": strings.Repeat("\x00\x01\x02\x03", 25_000),
	} {
		name = filepath.Join(root, name)
		write(t, name, data)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.txt", filepath.Join(root, "out")); err != nil {
		t.Log(err)
	}
	return root
}

// overTCP sends a request to a server with the handler h and returns everything that the
// server sends before it closes.
func overTCP(t *testing.T, h RequestHandler, request string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Handler: h, Logger: discardLogger{}}
	go s.Serve(ln)
	defer s.Shutdown()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
