package figures

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxCore bounds what ParseCores reads.
const maxCore = 8192

// Cores is a set of CPUs, by their numbers.
type Cores map[int]bool

// ParseCores reads a list such as "0-1,3", which Linux writes. It returns nil if there is
// none or it is not valid.
func ParseCores(list string) Cores {
	if list == "" {
		return nil
	}
	cores := Cores{}
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a < 0 || b < a || b > maxCore {
			return nil
		}
		for c := a; c <= b; c++ {
			cores[c] = true
		}
	}
	return cores
}

// Add puts the cores of o into c.
func (c Cores) Add(o Cores) { maps.Copy(c, o) }

// String writes c as a list that ParseCores reads.
func (c Cores) String() string {
	var b strings.Builder
	all := slices.Sorted(maps.Keys(c))
	for i := 0; i < len(all); {
		end := i
		for end+1 < len(all) && all[end+1] == all[end]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(all[i]))
		if end > i {
			b.WriteString("-" + strconv.Itoa(all[end]))
		}
		i = end + 1
	}
	return b.String()
}

// overlaps reports whether a core is in both.
func (c Cores) overlaps(o Cores) bool {
	for n := range c {
		if o[n] {
			return true
		}
	}
	return false
}
