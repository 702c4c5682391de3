package renewed

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A failure is reported at the first look, once an hour while it lasts, and when its reason
// changes. Its end is reported once. A look too early, and a read by hand, report nothing.
func TestNews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	bad, worse := errors.New("bad"), errors.New("worse")
	var refuse error
	reads := 0
	f := New(func([][]byte) error { reads++; return refuse }, path)
	if err := os.WriteFile(path, []byte("a"), 0o600); err != nil {
		t.Fatalf("writing: %v", err)
	}
	start := time.Now()
	if err := os.Chtimes(path, start, start.Add(-time.Hour)); err != nil {
		t.Fatalf("setting the time: %v", err)
	}
	if err := f.Read(start); err != nil {
		t.Fatalf("the first read: %v", err)
	}
	for _, step := range []struct {
		name   string
		after  time.Duration // since the start
		use    error
		change bool
		hand   bool // the files are read by hand before
		reads  int  // in all
		want   News
	}{
		{name: "too early", after: time.Minute - 1, reads: 1},
		{name: "nothing changed", after: time.Minute, reads: 1},
		{name: "a bad version", after: 2 * time.Minute, use: bad, change: true, reads: 2, want: News{Failed: bad}},
		{name: "too early again", after: 2*time.Minute + 1, use: bad, reads: 2},
		{name: "the same", after: 3 * time.Minute, use: bad, reads: 3},
		{name: "less than an hour", after: 61 * time.Minute, use: bad, reads: 4},
		{name: "an hour", after: 62 * time.Minute, use: bad, reads: 5, want: News{Failed: bad}},
		{name: "another reason", after: 63 * time.Minute, use: worse, reads: 6, want: News{Failed: worse}},
		{name: "the same, the clock was set back", after: -time.Minute, use: worse, reads: 7, want: News{Failed: worse}},
		{name: "over", after: 0, reads: 8, want: News{Over: true}},
		{name: "nothing new", after: time.Minute, reads: 8},
		{name: "bad again", after: 5 * time.Minute, use: bad, change: true, reads: 9, want: News{Failed: bad}},
		{name: "over by hand", after: 6 * time.Minute, hand: true, reads: 10},
		{name: "which is reported", after: 7 * time.Minute, reads: 10, want: News{Over: true}},
	} {
		refuse = step.use
		now := start.Add(step.after)
		if step.change {
			if err := os.Chtimes(path, start, start.Add(-time.Hour+step.after)); err != nil {
				t.Fatalf("setting the time: %v", err)
			}
		}
		if step.hand {
			if err := f.Read(now); err != nil {
				t.Errorf("%s: %v", step.name, err)
			}
		}
		if got := f.Look(now, time.Minute); got != step.want || reads != step.reads {
			t.Errorf("%s: %+v after %d reads, want %+v after %d", step.name, got, reads, step.want, step.reads)
		}
	}
}

// What is read, and what isn't.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	f := New(func([][]byte) error { return nil }, filepath.Join(dir, "file"))
	for size, ok := range map[int]bool{0: true, MaxSize: true, MaxSize + 1: false} {
		if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, size), 0o600); err != nil {
			t.Fatalf("writing: %v", err)
		}
		if err := f.Read(time.Now()); (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if Regular(dir) == nil || Regular(filepath.Join(dir, "missing")) == nil || Regular(filepath.Join(dir, "file")) != nil {
		t.Error("Regular is wrong about a folder, a missing file or a file")
	}
}
