package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/measure/figures"
)

// format returns v with its unit, as package figures writes it. The script has the same
// function for axes.
func format(u Unit, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	switch u {
	case Nanoseconds:
		return duration(v)
	case Bytes:
		return size(v)
	case Cores:
		if math.Abs(v) < 0.1 {
			return strconv.FormatFloat(v, 'g', 2, 64)
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	case Ratio:
		return strconv.FormatFloat(v, 'f', 2, 64) + "×"
	}
	return number(v)
}

func duration(ns float64) string { return figures.FormatDuration(int64(math.Round(ns))) }

func size(v float64) string { return figures.FormatBytes(int64(math.Round(v))) }

func number(v float64) string { return figures.FormatRate(v) }

func grouped(n int64) string { return figures.FormatCount(n) }

func percent(share float64) string { return figures.FormatShare(share) }

// clean returns s as valid UTF-8 in one line, with at most limit bytes of it. Characters that
// control a terminal or turn the direction of text are shown by their numbers.
func clean(s string, limit int) string {
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit] + "…"
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			b.WriteByte(' ')
		case hidden(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// shell returns a command line that a POSIX shell reads as args.
func shell(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		plain := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
		}
		if arg == "" || strings.TrimFunc(arg, plain) != "" {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
