package main

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Names that some file systems take for those of dot files are hidden in files, listings and
// archives. Joiners in words and emoji hide nothing.
func TestServeHiddenNames(t *testing.T) {
	hidden := []string{".env", "\u200c.env", "\ufeff\u200d.htpasswd", "\u00ad.netrc"}
	shown := []string{"می\u200cخواهم.txt", "\u200cمی.txt", "👨\u200d👩\u200d👧.png", "plain.txt"}
	files := map[string]string{}
	for _, name := range append(hidden, shown...) {
		files[name] = "text"
	}
	for _, dotfiles := range []bool{false, true} {
		args := []string{"-zip", "-allow-host", "h.test"}
		if dotfiles {
			args = append(args, "-dotfiles")
		}
		h := serveHere(t, "auto", site(t, files), nil, args...)
		get := func(path string) (int, string) {
			resp, err := http.Get(h.url + path)
			if err != nil {
				t.Fatalf("GET: %v", err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatalf("reading: %v", err)
			}
			return resp.StatusCode, string(b)
		}
		_, archive := get("?zip")
		z, err := zip.NewReader(bytes.NewReader([]byte(archive)), int64(len(archive)))
		if err != nil {
			t.Fatalf("the archive: %v", err)
		}
		stored := map[string]bool{}
		for _, f := range z.File {
			_, name, _ := strings.Cut(f.Name, "/")
			stored[name] = true
		}
		_, listing := get("")
		for i, name := range append(hidden, shown...) {
			want := dotfiles || i >= len(hidden)
			if status, _ := get(url.PathEscape(name)); (status == 200) != want {
				t.Errorf("dotfiles %t: %q: status %d", dotfiles, name, status)
			}
			if strings.Contains(listing, url.PathEscape(name)) != want {
				t.Errorf("dotfiles %t: %q in the listing: %t", dotfiles, name, !want)
			}
			if stored[name] != want {
				t.Errorf("dotfiles %t: %q in the archive: %t", dotfiles, name, !want)
			}
		}
	}
}

// Unfinished uploads are hidden under each name that may be theirs.
func TestUnfinishedNames(t *testing.T) {
	for path, want := range map[string]bool{
		"/.gale-upload-1": true, "/a/.GALE-upload-1/b": true, "/\u200c.gale-upload-1": true, "/.gale\u200d-upload-1": true,
		"/gale-upload-1": false, "/a.gale-upload-1": false, "/": false, "": false, "/.env": false,
	} {
		if got := namesUnfinished([]byte(path)); got != want {
			t.Errorf("%q: %t", path, got)
		}
	}
}
