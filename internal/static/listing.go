package static

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// ListingEntry is one line of a folder's listing.
type ListingEntry struct {
	Name    string
	Size    int64
	ModTime time.Time
	Dir     bool
}

// Listing is what AppendListing shows.
type Listing struct {
	// Path is the decoded path of the folder as the client asked for it. It may have no
	// slash at its end.
	Path string
	// Entries are shown in this order: see SortEntries.
	Entries []ListingEntry
	// Parent adds a link to the parent folder.
	Parent bool
	// Omitted counts the entries left out because there are too many.
	Omitted int
	// MaxBytes is the size of the page in bytes from which further entries are left
	// out, too. 0 means no limit.
	MaxBytes int
}

// SortEntries puts folders first, then sorts by name; see CompareNames.
func SortEntries(entries []ListingEntry) {
	slices.SortFunc(entries, func(a, b ListingEntry) int {
		if a.Dir != b.Dir {
			if a.Dir {
				return -1
			}
			return 1
		}
		return CompareNames(a.Name, b.Name)
	})
}

const listingStyle = `<style>
:root{color-scheme:light dark}
body{font:15px/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.25rem;font-weight:600;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;padding:.15rem .75rem .15rem 0;border-bottom:1px solid #8883}
th{white-space:nowrap}
th:first-child,td.n{width:100%;overflow-wrap:anywhere}
th.s,td.s{text-align:right}
th:last-child,td.t{padding-left:.75rem;padding-right:0}
tbody tr:hover{background:#8881}
td.s,td.t{white-space:nowrap;font-variant-numeric:tabular-nums;opacity:.75}
a{text-decoration:none}a:hover{text-decoration:underline}
.dir{font-weight:600}
</style>`

// AppendListing appends l as a page of HTML in UTF-8. Links are relative to l.Path. Names
// are escaped in links and in text. There is no script. The empty icon keeps browsers from
// asking for one.
func AppendListing(dst []byte, l *Listing) []byte {
	base, omitted := len(dst), l.Omitted
	dst = append(dst, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<link rel=\"icon\" href=\"data:,\">\n<title>"...)
	dst = appendHTML(dst, l.Path)
	dst = append(dst, "</title>\n"+listingStyle+"\n</head>\n<body>\n<main>\n<h1>"...)
	dst = appendHTML(dst, l.Path)
	dst = append(dst, "</h1>\n<table>\n<thead><tr><th scope=\"col\">Name</th><th scope=\"col\" class=\"s\">Size</th><th scope=\"col\">Modified (UTC)</th></tr></thead>\n<tbody>\n"...)
	// With "./" a name such as "a:b" isn't read as a scheme.
	parent, folder := "../", "./"
	if last := l.Path[strings.LastIndexByte(l.Path, '/')+1:]; last != "" {
		parent, folder = "./", "./"+string(AppendEscapedPath(nil, []byte(last)))+"/"
	}
	if l.Parent {
		dst = append(append(append(dst, "<tr><td class=\"n\"><a href=\""...), parent...), "\" class=\"dir\" aria-label=\"Parent folder\">..</a></td><td class=\"s\"></td><td class=\"t\"></td></tr>\n"...)
	}
	for i := range l.Entries {
		if l.MaxBytes > 0 && len(dst)-base >= l.MaxBytes {
			omitted += len(l.Entries) - i
			break
		}
		dst = appendEntry(dst, folder, &l.Entries[i])
	}
	dst = append(dst, "</tbody>\n</table>\n"...)
	if omitted > 0 {
		dst = append(strconv.AppendInt(append(dst, "<p>and "...), int64(omitted), 10), " more</p>\n"...)
	}
	if len(l.Entries) == 0 {
		dst = append(dst, "<p>Nothing here.</p>\n"...)
	}
	return append(dst, "</main>\n</body>\n</html>\n"...)
}

// appendEntry appends the line of e, which is in the folder that the link of that name
// leads to.
func appendEntry(dst []byte, folder string, e *ListingEntry) []byte {
	slash, class := "", "file"
	if e.Dir {
		slash, class = "/", "dir"
	}
	// A name that begins with a slash or "../" can't be in a folder.
	dst = AppendEscapedPath(append(append(dst, "<tr><td class=\"n\"><a href=\""...), folder...), []byte(e.Name))
	dst = append(append(append(append(dst, slash...), "\" class=\""...), class...), "\">"...)
	dst = appendHTML(dst, e.Name)
	dst = append(append(dst, slash...), "</a></td><td class=\"s\">"...)
	if !e.Dir {
		dst = AppendSize(dst, e.Size)
	}
	dst = append(dst, "</td><td class=\"t\">"...)
	if !e.ModTime.IsZero() {
		dst = e.ModTime.UTC().AppendFormat(dst, "2006-01-02 15:04")
	}
	return append(dst, "</td></tr>\n"...)
}

// AppendSize appends a size of n bytes in a readable form: "512 B", "1.5 KiB", "12
// MiB".
func AppendSize(dst []byte, n int64) []byte {
	if n < 1024 {
		return append(strconv.AppendInt(dst, n, 10), " B"...)
	}
	units := "KMGTPE"
	v := float64(n) / 1024
	for v >= 1023.5 && len(units) > 1 {
		v /= 1024
		units = units[1:]
	}
	precision := 0
	if v < 9.95 {
		precision = 1
	}
	dst = strconv.AppendFloat(dst, v, 'f', precision, 64)
	return append(dst, ' ', units[0], 'i', 'B')
}

// appendHTML appends s as text of an element or a quoted attribute. Control bytes,
// which HTML doesn't allow, and bytes that aren't UTF-8 become U+FFFD.
func appendHTML(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '"':
			dst = append(dst, "&#34;"...)
		case r == '\'':
			dst = append(dst, "&#39;"...)
		case r < 0x20 && r != '\t' || r == 0x7f:
			dst = append(dst, "\uFFFD"...)
		default:
			dst = append(dst, string(r)...)
		}
	}
	return dst
}
