package listing

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// appendJSON appends the listing as JSON:
//
//	{"path":"/a/","entries":[{"name":"x.txt","type":"file","size":5,"modified":"2026-01-02T03:04:05Z"}]}
//
// It has all entries that match the filter. An entry has "href", a link relative to the
// folder, only if its name isn't UTF-8: "name" can't hold its bytes then. If the folder has
// more names than are read, there is "truncated":true.
func appendJSON(dst []byte, f *folder, v *view) []byte {
	dst = slices.Grow(dst, 128*len(f.entries)) // enough for usual names
	dst = append(dst, `{"path":`...)
	dst = appendJSONString(dst, v.path)
	dst = append(dst, `,"entries":[`...)
	for i := range f.entries {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSONEntry(dst, &f.entries[i])
	}
	dst = append(dst, ']')
	if f.cut {
		dst = append(dst, `,"truncated":true`...)
	}
	return append(dst, "}\n"...)
}

func appendJSONEntry(dst []byte, e *entry) []byte {
	dst = appendJSONString(append(dst, `{"name":`...), e.name)
	if !utf8.ValidString(e.name) {
		dst = append(dst, `,"href":"`...)
		dst = append(appendHref(dst, e.name, e.dir), '"')
	}
	if e.dir {
		dst = append(dst, `,"type":"folder"`...)
	} else {
		dst = append(dst, `,"type":"file","size":`...)
		dst = strconv.AppendInt(dst, e.size, 10)
	}
	dst = append(dst, `,"modified":"`...)
	dst = time.Unix(e.time, 0).UTC().AppendFormat(dst, time.RFC3339)
	return append(dst, `"}`...)
}
