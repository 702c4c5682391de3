package static

import (
	"slices"
	"testing"
)

// The names of each row are in order, each before all names after it.
func TestCompareNames(t *testing.T) {
	for _, names := range [][]string{
		{"", "-x", "1", "2", "10", "a", "b"},
		{"file", "file-1.txt", "file-2.txt", "file-10.txt", "file-10b.txt", "File-11.txt"},
		{"file.txt", "file1.txt"},
		{"A", "a", "B", "b"},
		{"A.txt", "a.txt", "aa", "B.TXT"},
		{"0", "00", "01", "1", "02", "2"},
		{"a0b", "a1", "a1b", "a2"},
		{"18446744073709551615", "18446744073709551616", "100000000000000000000000000"},
		{"v1.2.9", "v1.2.10", "v1.10.0"},
		{"z", "Ä", "ä", "äa", "Ö", "日本"},
		{"a", "a\xff", "a\xff1"},
	} {
		for i, a := range names {
			for j, b := range names {
				want := 0
				if i < j {
					want = -1
				} else if i > j {
					want = 1
				}
				if got := CompareNames(a, b); got != want {
					t.Errorf("%q and %q: got %d, want %d", a, b, got, want)
				}
			}
		}
	}
}

// The order doesn't depend on how the names were arranged before.
func FuzzCompareNames(f *testing.F) {
	f.Add("file-2", "file-10", "FILE-010")
	f.Add("a\xff", "a1", "aé")
	f.Add("0", "00", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		names := []string{a, b, c}
		slices.SortFunc(names, CompareNames)
		for i := range names {
			for j := range names {
				order := CompareNames(names[i], names[j])
				if order != -CompareNames(names[j], names[i]) || i < j && order > 0 || order == 0 && names[i] != names[j] {
					t.Fatalf("%q isn't sorted: %q, %q: %d", names, names[i], names[j], order)
				}
			}
		}
	})
}
