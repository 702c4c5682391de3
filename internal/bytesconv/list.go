package bytesconv

import "iter"

// NextElement cuts the first element off a comma-separated list (RFC 9110 section 5.6.1)
// and returns it without the whitespace around it. It also returns empty elements. The
// slices point into list.
func NextElement(list []byte) (elem, rest []byte) {
	n := 0
	for n < len(list) && list[n] != ',' {
		n++
	}
	from, to := TrimRange(list, 0, n)
	if n < len(list) {
		rest = list[n+1:]
	}
	return list[from:to], rest
}

// Elements returns an iterator over the elements of a field whose value is a list. lines are
// the values of its lines in order: they are one list (RFC 9110 section 5.3). Empty elements
// are left out (section 5.6.1.2). The slices point into lines. A comma within a quoted string
// ends an element, too, so it isn't for lists with quoted strings.
func Elements(lines [][]byte) iter.Seq[[]byte] {
	return func(yield func(elem []byte) bool) {
		for _, list := range lines {
			for len(list) > 0 {
				var elem []byte
				if elem, list = NextElement(list); len(elem) > 0 && !yield(elem) {
					return
				}
			}
		}
	}
}

// HasElement reports whether elem is one of the Elements of lines, ignoring case.
func HasElement(lines [][]byte, elem string) bool {
	for e := range Elements(lines) {
		if EqualFoldString(e, elem) {
			return true
		}
	}
	return false
}
