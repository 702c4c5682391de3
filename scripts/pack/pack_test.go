package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Archives have every file with its bytes and permissions, and the same bytes whenever
// they are made.
func TestPack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gale_v1")
	write(t, filepath.Join(dir, "gale"), "program", 0o755)
	write(t, filepath.Join(dir, "gale.exe"), "program for Windows", 0o644)
	write(t, filepath.Join(dir, "LICENSE"), "license", 0o600)
	write(t, filepath.Join(dir, "completions", "_gale"), "completions", 0o644)
	want := []string{
		"gale_v1/LICENSE 644 license",
		"gale_v1/completions/_gale 644 completions",
		"gale_v1/gale 755 program",
		"gale_v1/gale.exe 755 program for Windows",
	}
	if runtime.GOOS == "windows" { // it has no permission to run a file
		want[2] = "gale_v1/gale 644 program"
	}
	at := time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)
	out := t.TempDir()
	for _, form := range []string{".tar.gz", ".zip"} {
		first, second := filepath.Join(out, "first"+form), filepath.Join(out, "second"+form)
		if err := packFile(first, dir, at); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, "gale"), at, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		if err := packFile(second, dir, at); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, first), read(t, second)) {
			t.Errorf("%s: other bytes at the second time", form)
		}
		if got := contents(t, first, at); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", form, got, want)
		}
	}
	if err := packFile(filepath.Join(out, "first.rar"), dir, at); err == nil {
		t.Error("unknown form packed")
	}
	var sums bytes.Buffer
	if err := printSums(&sums, out); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("%x  first.zip\n", sha256.Sum256(read(t, filepath.Join(out, "first.zip"))))
	if !strings.Contains(sums.String(), line) || strings.Count(sums.String(), "\n") != 4 {
		t.Errorf("checksums:\n%swant 4 lines with\n%s", sums.String(), line)
	}
}

// TestRelease makes a release for this machine and one that needs another linker. It
// takes a minute, so it runs only if GALE_RELEASE is set.
func TestRelease(t *testing.T) {
	if os.Getenv("GALE_RELEASE") == "" || runtime.GOOS == "windows" {
		t.Skip("GALE_RELEASE isn't set")
	}
	here := runtime.GOOS + "_" + runtime.GOARCH
	var dists [2]string
	for i := range dists {
		dists[i] = t.TempDir()
		cmd := exec.Command("../release.sh", "v1.2.3")
		cmd.Env = append(os.Environ(), "DIST="+dists[i], "TARGETS=windows/arm64 "+strings.ReplaceAll(here, "_", "/"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	sums := strings.Fields(string(read(t, filepath.Join(dists[0], "SHA256SUMS"))))
	if len(sums) != 4 {
		t.Fatalf("checksums: %q", sums)
	}
	for i := 0; i < len(sums); i += 2 {
		for _, dist := range dists {
			if got := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(dist, sums[i+1])))); got != sums[i] {
				t.Errorf("%s/%s has the checksum %s, want %s", dist, sums[i+1], got, sums[i])
			}
		}
	}
	names := map[string]string{}
	for _, line := range contents(t, filepath.Join(dists[0], "gale_v1.2.3_"+here+".tar.gz"), time.Time{}) {
		name, rest, _ := strings.Cut(line, " ")
		_, names[filepath.Base(name)], _ = strings.Cut(rest, " ")
	}
	for name, has := range map[string]string{
		"LICENSE": "MIT License", "README.txt": "-tls-self-signed", "gale.bash": "complete -F", "_gale": "#compdef gale", "gale.fish": "complete -c gale",
	} {
		if !strings.Contains(names[name], has) {
			t.Errorf("%s lacks %q: %q", name, has, names[name])
		}
	}
	binary := filepath.Join(t.TempDir(), "gale")
	write(t, binary, names["gale"], 0o755)
	out, err := exec.Command(binary, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "gale version v1.2.3 "+runtime.Version()) {
		t.Errorf("gale version: %s, %v", out, err)
	}
	if runtime.GOOS == "linux" {
		checkStatic(t, binary)
		checkAlone(t, binary)
	}
}

// checkStatic proves that a program needs no other file: it has neither an
// interpreter nor libraries, and no paths of the machine that built it.
func checkStatic(t *testing.T, name string) {
	t.Helper()
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program has an interpreter")
		}
	}
	if libs, err := f.ImportedLibraries(); err != nil || len(libs) > 0 {
		t.Errorf("the program needs %q, %v", libs, err)
	}
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(read(t, name), []byte(dir)) {
		t.Errorf("the program has the path %s", dir)
	}
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// contents lists an archive: name, permissions and bytes of each file. All must have the
// time at, unless it is zero.
func contents(t *testing.T, name string, at time.Time) []string {
	t.Helper()
	var list []string
	add := func(name string, mode os.FileMode, modified time.Time, r io.Reader) {
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %o %s", name, mode, data))
		if !at.IsZero() && !modified.Equal(at) {
			t.Errorf("%s is of %v, want %v", name, modified, at)
		}
	}
	if strings.HasSuffix(name, ".zip") {
		z, err := zip.OpenReader(name)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, f.Mode().Perm(), f.Modified, r)
		}
		return list
	}
	gz, err := gzip.NewReader(bytes.NewReader(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		add(h.Name, h.FileInfo().Mode().Perm(), h.ModTime, tr)
	}
}
