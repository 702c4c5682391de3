package arch

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDependent builds a program of another module that imports the whole library. The
// modules that only the command needs are neither in that program nor in its go.sum, so its
// go command doesn't download them.
func TestDependent(t *testing.T) {
	only := commandModules(t)
	dir := t.TempDir()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf("module example.com/dependent\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %s => %q\n",
		module, module, filepath.ToSlash(checkout)))
	write(t, filepath.Join(dir, "main.go"), importingAll(t))

	proxy := tidy(t, dir)
	binary := filepath.Join(dir, "dependent")
	if out, err := goCommand(t, dir, proxy, "build", "-o", binary, "."); err != nil {
		t.Fatalf("go build of the dependent: %v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatalf("reading the modules of the dependent's binary: %v", err)
	}
	var compiled []string
	for _, m := range info.Deps {
		compiled = append(compiled, m.Path)
	}
	for _, m := range libraryModules {
		if m != module && !slices.Contains(compiled, m) {
			t.Errorf("the dependent's binary lacks %s: it doesn't import the whole library. It has %v", m, compiled)
		}
	}
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range only {
		if slices.Contains(compiled, m) {
			t.Errorf("the dependent's binary has %s, which only the command needs", m)
		}
		if bytes.Contains(sums, []byte(m+" ")) {
			t.Errorf("the dependent's go.sum has %s, which only the command needs:\n%s", m, sums)
		}
	}
}

// commandModules returns the modules of go.mod that the library doesn't need.
func commandModules(t *testing.T) (only []string) {
	t.Helper()
	out, err := goCommand(t, filepath.Join("..", ".."), "", "mod", "edit", "-json")
	if err != nil {
		t.Fatalf("reading go.mod: %v\n%s", err, out)
	}
	var file struct{ Require []struct{ Path string } }
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	for _, m := range file.Require {
		if !slices.Contains(libraryModules, m.Path) {
			only = append(only, m.Path)
		}
	}
	if len(only) == 0 {
		t.Fatal("go.mod has no module that only the command needs: change this test and docs/internals/decisions.md")
	}
	return only
}

// importingAll returns a program that imports all packages of the library that others can
// import.
func importingAll(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("package main\n\n")
	n := 0
	for path := range listPackages(t, runtime.GOOS) {
		if isLibrary(path) && !strings.HasPrefix(path, internal) {
			fmt.Fprintf(&b, "import _ %q\n", path)
			n++
		}
	}
	if n < 10 {
		t.Fatalf("found only %d packages of the library", n)
	}
	b.WriteString("\nfunc main() {}\n")
	return b.String()
}

// tidy completes the go.mod of a folder, and makes its go.sum. It uses the module cache
// if that has all, otherwise the proxy. It returns the GOPROXY that worked.
func tidy(t *testing.T, dir string) (proxy string) {
	t.Helper()
	out, err := goCommand(t, dir, "off", "mod", "tidy")
	if err == nil {
		return "off"
	}
	if !bytes.Contains(out, []byte("GOPROXY=off")) {
		t.Fatalf("go mod tidy of the dependent: %v\n%s", err, out)
	}
	if out, err = goCommand(t, dir, "", "mod", "tidy"); err != nil {
		t.Skipf("the module cache lacks modules, and they can't be downloaded: %v\n%s", err, out)
	}
	return ""
}

// goCommand runs the go command in a folder, outside of workspaces, and returns what it
// prints. A proxy of "" is that of the environment.
func goCommand(t *testing.T, dir, proxy string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// The module cache has what Gale's go.sum allows: no database of sums has to be asked.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GONOSUMDB=*")
	if proxy != "" {
		cmd.Env = append(cmd.Env, "GOPROXY="+proxy)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("go %s took too long:\n%s", strings.Join(args, " "), errs.Bytes())
	}
	if err != nil {
		return errs.Bytes(), err
	}
	return out.Bytes(), nil
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
