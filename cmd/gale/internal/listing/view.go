package listing

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/static"
)

// pageSize is how many entries an HTML page shows.
const pageSize = 1000

// sortKey is what a listing is sorted by.
type sortKey string

const (
	byName sortKey = "name"
	bySize sortKey = "size"
	byTime sortKey = "time"
)

// view is what the query of a request asks for: ?sort=size&order=desc&q=text&page=2.
type view struct {
	path  string // decoded path of the request, with a slash at the end
	sort  sortKey
	desc  bool
	query string // only names with this text, without regard to case
	page  int    // from 1
	pages int    // how many there are, from 1; set by choose
}

// parseView reads the query. Values that have no meaning are ignored.
func parseView(args *gale.Args, path string) view {
	v := view{path: path, sort: byName, page: 1, pages: 1, query: string(args.Peek("q"))}
	if !strings.HasSuffix(v.path, "/") {
		v.path += "/"
	}
	switch s := sortKey(args.Peek("sort")); s {
	case bySize, byTime:
		v.sort = s
	}
	v.desc = string(args.Peek("order")) == "desc"
	if n, err := strconv.Atoi(string(args.Peek("page"))); err == nil && n > 1 {
		v.page = n
	}
	return v
}

// choose keeps those entries of f that v shows, in its order, with size and time. An HTML
// page shows pageSize of them. JSON has all.
func (f *folder) choose(v *view, all bool) {
	f.filter(v.query)
	f.matches = len(f.entries)
	if all || v.sort != byName || len(f.entries) <= pageSize {
		f.statAll()
		f.matches = len(f.entries)
	}
	f.count()
	if all {
		slices.SortFunc(f.entries, v.compare)
		return
	}
	v.pages = max(1, (len(f.entries)+pageSize-1)/pageSize)
	v.page = min(v.page, v.pages)
	first := (v.page - 1) * pageSize
	last := min(first+pageSize, len(f.entries))
	sortWindow(f.entries, first, last, v.compare)
	f.entries = f.entries[first:last]
	f.statAll()
}

// sortWindow puts those entries into entries[from:to] that are there when all are sorted, in
// order. It is quicksort that leaves out the parts outside of the window: of 100,000 entries
// 1,000 are found in a fifth of the time. Pivots are chosen by chance, so that no choice of
// names makes it slow.
func sortWindow(entries []entry, from, to int, compare func(a, b entry) int) {
	if from >= to {
		return
	}
	if len(entries) <= 64 {
		slices.SortFunc(entries, compare)
		return
	}
	last := len(entries) - 1
	swap := func(i, j int) { entries[i], entries[j] = entries[j], entries[i] }
	swap(rand.IntN(len(entries)), last)
	pivot := 0 // entries before it are less than that at last
	for i := range last {
		if compare(entries[i], entries[last]) < 0 {
			swap(i, pivot)
			pivot++
		}
	}
	swap(pivot, last)
	sortWindow(entries[:pivot], from, min(to, pivot), compare)
	sortWindow(entries[pivot+1:], max(0, from-pivot-1), to-pivot-1, compare)
}

// filter keeps the entries whose names contain text.
func (f *folder) filter(text string) {
	if text == "" {
		return
	}
	text = strings.ToLower(text)
	f.entries = slices.DeleteFunc(f.entries, func(e entry) bool {
		return !strings.Contains(strings.ToLower(shownName(e.name)), text)
	})
}

// compare orders entries. Folders come first in any order. Entries that are equal otherwise
// are in the order of their names.
func (v *view) compare(a, b entry) int {
	if a.dir != b.dir {
		if a.dir {
			return -1
		}
		return 1
	}
	order := 0
	switch v.sort {
	case bySize:
		if !a.dir {
			order = cmp.Compare(a.size, b.size)
		}
	case byTime:
		order = cmp.Compare(a.time, b.time)
	default:
		order = static.CompareNames(a.name, b.name)
	}
	if order == 0 {
		return static.CompareNames(a.name, b.name)
	}
	if v.desc {
		return -order
	}
	return order
}

// startsDesc reports whether the first choice of a key sorts in descending order: the
// largest and the newest first.
func (k sortKey) startsDesc() bool { return k != byName }

// appendQuery appends the reference to the same folder with this sort order, query and page.
func (v *view) appendQuery(dst []byte, sort sortKey, desc bool, page int) []byte {
	base := len(dst)
	sep := byte('?')
	add := func(name, value string) {
		dst = append(append(append(dst, sep), name...), '=')
		dst = gale.AppendQuotedArg(dst, []byte(value))
		sep = '&'
	}
	if v.query != "" {
		add("q", v.query)
	}
	if sort != byName || desc {
		add("sort", string(sort))
	}
	if desc {
		add("order", "desc")
	}
	if page > 1 {
		add("page", strconv.Itoa(page))
	}
	if len(dst) == base {
		return append(dst, "./"...)
	}
	return dst
}
