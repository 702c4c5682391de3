package static

import (
	"fmt"
	"slices"
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
		`<a href="../" class="dir" aria-label="Parent folder">..</a>`,
		`<th scope="col">Name</th>`,
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

// Folders come first; case tells two names apart but doesn't order others, and numbers are
// ordered by their values.
func TestSortEntries(t *testing.T) {
	want := []ListingEntry{{Name: "B", Dir: true}, {Name: "c", Dir: true}, {Name: "A"}, {Name: "a"}, {Name: "aa"}, {Name: "B.txt"}, {Name: "b.txt"}, {Name: "C"}, {Name: "c-2"}, {Name: "c-10"}}
	got := slices.Clone(want)
	slices.Reverse(got)
	if SortEntries(got); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A page that gets too long says how many entries it lacks, those included that were left
// out before. What is in front of it doesn't count.
func TestListingMaxBytes(t *testing.T) {
	l := Listing{Path: "/", Entries: make([]ListingEntry, 100), Omitted: 7}
	all := AppendListing(nil, &l)
	before := strings.Repeat("before the page", 10_000)
	for _, limit := range []int{1, len(all) / 2, len(all) - 1, len(all)} {
		l.MaxBytes = limit
		page := string(AppendListing([]byte(before), &l))
		rows := strings.Count(page, "<tr><td")
		if more := fmt.Sprintf("<p>and %d more</p>", 107-rows); !strings.Contains(page, more) || !strings.HasPrefix(page, before) {
			t.Errorf("at most %d bytes: %d entries, and no %q", limit, rows, more)
		}
		row, tail := len("<tr><td class=\"n\"><a href=\"./\" class=\"file\"></a></td><td class=\"s\">0 B</td><td class=\"t\"></td></tr>\n"), 100
		if n := len(page) - len(before); limit > 1 && n > limit+row+tail || limit == len(all) && rows != 100 || limit == 1 && rows != 0 {
			t.Errorf("at most %d bytes: %d entries in %d", limit, rows, n)
		}
	}
}

// Text in a page is text, whatever is in it.
func TestAppendHTML(t *testing.T) {
	for in, want := range map[string]string{
		`<a href='x' id="y">&amp;</a>`: "&lt;a href=&#39;x&#39; id=&#34;y&#34;&gt;&amp;amp;&lt;/a&gt;",
		"tab\tü€":                      "tab\tü€", "\x00\x1f\x7f\r\n": strings.Repeat("\uFFFD", 5), "\xff\xc3": "\uFFFD\uFFFD",
	} {
		if got := string(appendHTML(nil, in)); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
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
