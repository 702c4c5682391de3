package message

import (
	"mime/multipart"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// storedFile returns a file of a form that is stored on the disk.
func storedFile(t *testing.T, content string) *multipart.FileHeader {
	t.Helper()
	body := "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n" + content + "\r\n--B--\r\n"
	f, err := multipart.NewReader(strings.NewReader(body), "B").ReadForm(0) // files go to the disk
	if err != nil {
		t.Fatal("reading the form:", err)
	}
	t.Cleanup(func() { _ = f.RemoveAll() })
	return f.File["f"][0]
}

// SaveMultipartFile replaces a file only by a whole copy.
func TestSaveMultipartFileReplaces(t *testing.T) {
	broken := storedFile(t, "never read")
	src, err := broken.Open()
	if err != nil {
		t.Fatal("opening the stored file:", err)
	}
	name := src.(*os.File).Name()
	src.Close()
	// It is found, but can't be read.
	if err := os.Remove(name); err != nil {
		t.Fatal("removing the stored file:", err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal("making a folder in its place:", err)
	}
	for _, tt := range []struct {
		name, old string // old is the content of the file that is there, "" if there is none
		fh        *multipart.FileHeader
		link      bool // the path is a link to it
		want      string
	}{
		{"new", "", storedFile(t, "new"), false, "new"},
		{"replaced", "the old version", storedFile(t, "new"), false, "new"},
		{"replaced by a link", "the old version", storedFile(t, "new"), true, "new"},
		{"broken", "the old version", broken, false, "the old version"},
		{"broken by a link", "the old version", broken, true, "the old version"},
		{"broken and new", "", broken, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "config.json")
			path := file
			if tt.old != "" {
				peers.Write(t, file, tt.old)
				if err := os.Chmod(file, 0o640); err != nil {
					t.Fatal("setting permissions:", err)
				}
			}
			if tt.link {
				path = filepath.Join(t.TempDir(), "link")
				if err := os.Symlink(file, path); err != nil {
					t.Skip("no links here:", err)
				}
			}
			if err := gale.SaveMultipartFile(tt.fh, path); (err == nil) != (tt.fh != broken) {
				t.Errorf("got %v", err)
			}
			b, err := os.ReadFile(path)
			if string(b) != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", b, err, tt.want)
			}
			if fi, err := os.Stat(path); err == nil && tt.old != "" && runtime.GOOS != "windows" && fi.Mode().Perm() != 0o640 {
				t.Errorf("the permissions are %v, want 0640", fi.Mode())
			}
			want := 1
			if tt.want == "" {
				want = 0
			}
			if all, err := os.ReadDir(dir); err != nil || len(all) != want {
				t.Errorf("the folder has %v, %v", all, err)
			}
		})
	}
}
