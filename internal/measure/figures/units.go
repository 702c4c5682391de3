package figures

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FormatDuration writes a duration in nanoseconds with three digits and a unit, such as
// "12.3 ms" or "850 µs".
func FormatDuration(ns int64) string {
	units := []string{"ns", "µs", "ms", "s"}
	v, u := float64(ns), 0
	for u < len(units)-1 && math.Abs(v) >= 999.5 {
		v, u = v/1000, u+1
	}
	if u == 0 {
		return strconv.FormatInt(ns, 10) + " ns"
	}
	return digits(v) + " " + units[u]
}

// FormatBytes writes a number of bytes with three digits and a decimal unit, such as
// "1.23 MB".
func FormatBytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	v, u := float64(n), 0
	for u < len(units)-1 && math.Abs(v) >= 999.5 {
		v, u = v/1000, u+1
	}
	if u == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return digits(v) + " " + units[u]
}

// FormatCount writes n with commas, such as "1,234,567".
func FormatCount(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// FormatRate writes a rate per second: with commas from 100 on or if it is whole, with three
// digits otherwise.
func FormatRate(perSecond float64) string {
	if a := math.Abs(perSecond); (a >= 99.95 || perSecond == math.Trunc(perSecond)) && a < math.MaxInt64/2 {
		return FormatCount(int64(math.Round(perSecond)))
	}
	return digits(perSecond)
}

// FormatShare writes a share as percent, such as "12 %", with one digit more below 10 %.
func FormatShare(share float64) string {
	p := share * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return "unknown"
	case p != 0 && math.Abs(p) < 0.05:
		return "under 0.1 %"
	case p != 0 && math.Abs(p) < 9.95 && p != math.Trunc(p):
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	case p < 100 && p > 99.5: // 99.9 % isn't all
		return strconv.FormatFloat(math.Floor(p*10)/10, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// digits writes v with three digits, or more if it is 1000 or larger.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "unknown"
	case a == 0:
		return "0"
	case a < 0.01:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case a < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// seconds writes a time of the run, such as "5 s" or "2.13 s".
func seconds(s float64) string {
	if s == math.Trunc(s) && s < 1e9 {
		return strconv.FormatFloat(s, 'f', 0, 64) + " s"
	}
	return FormatDuration(int64(s * float64(time.Second)))
}

// printable returns s without what could control a terminal, cut to at most limit columns.
// A server may have sent s.
func printable(s string, limit int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if n++; n > limit {
			return b.String()[:lastRune(b.String())] + "~"
		}
		switch {
		case r == utf8.RuneError && !utf8.ValidString(s[i:i+1]), !unicode.IsPrint(r):
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// lastRune returns where the last rune of s begins.
func lastRune(s string) int {
	_, n := utf8.DecodeLastRuneInString(s)
	return len(s) - n
}
