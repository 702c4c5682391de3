package static

import (
	"strings"
	"testing"
)

func TestAppendListing(t *testing.T) {
	entries := []ListingEntry{
		{Name: "b.txt", Size: 1536, ModTime: stamp},
		{Name: "A.txt", Size: 10},
		{Name: `"><script>alert(1)</script>`, Size: 1},
		{Name: "javascript:alert(1)", Size: 1},
		{Name: "per%20cent?x#y", Size: 1},
		{Name: "line\nbreak", Size: 1},
		{Name: "sub", Dir: true},
	}
	SortEntries(entries)
	if entries[0].Name != "sub" {
		t.Errorf("folders come first, got %q", entries[0].Name)
	}
	page := string(AppendListing(nil, &Listing{Path: "/<b>/", Entries: entries, Parent: true, Omitted: 3}))
	for _, want := range []string{
		"<title>/&lt;b&gt;/</title>",
		`<a href="../" class="dir">..</a>`,
		`<a href="./sub/" class="dir">sub/</a>`,
		`<a href="./%22%3E%3Cscript%3Ealert%281%29%3C/script%3E" class="file">&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</a>`,
		`<a href="./javascript%3Aalert%281%29" class="file">javascript:alert(1)</a>`,
		`href="./per%2520cent%3Fx%23y"`,
		"line\uFFFDbreak",
		"1.5 KiB</td><td class=\"t\">2026-01-02 03:04</td>",
		"and 3 more",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "<script") {
		t.Error("a name became an element")
	}
	if strings.Contains(page, "Nothing") || !strings.Contains(string(AppendListing(nil, &Listing{Path: "/"})), "Nothing here.") {
		t.Error("only an empty folder says that it is empty")
	}
}

func TestAppendSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 10 << 10: "10 KiB", 1<<20 - 1: "1.0 MiB", 5 << 30: "5.0 GiB", 1<<63 - 1: "8.0 EiB",
	} {
		if got := string(AppendSize(nil, n)); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}
