package figures

import (
	"strings"
	"testing"
	"time"
)

// second returns the n-th second of a run.
func second(n int) *Interval {
	return &Interval{AtNS: int64(n) * 1e9, Seconds: 1, Good: 1000, Bad: int64(n % 2), P99NS: int64(n+1) * 1e6}
}

func TestProgressOnTerminal(t *testing.T) {
	var b strings.Builder
	columns := 100
	p := NewProgress(&b, ProgressOptions{Columns: func() int { return columns }, Duration: 4 * time.Second, WarmUp: time.Second})
	show := func(in *Interval, want string) {
		t.Helper()
		b.Reset()
		p.Show(in)
		if b.String() != want {
			t.Errorf("wrote %q, want %q", b.String(), want)
		}
	}
	show(&Interval{AtNS: -1e9, Seconds: 0.5, Good: 300, P99NS: 2e6}, "\rwarm-up, 500 ms left  600/s  p99 2.00 ms  errors 0")
	show(second(0), "\r[#####...............]  1 s of 4 s  1,000/s  p99 1.00 ms  errors 0")
	show(second(1), "\r[##########..........]  2 s of 4 s  1,000/s  p99 2.00 ms  errors 1")
	columns = 30
	show(second(2), "\r[###############.....]  3 s ~")
	b.Reset()
	p.Clear()
	if want := "\r" + strings.Repeat(" ", 29) + "\r"; b.String() != want {
		t.Errorf("Clear wrote %q, want %q", b.String(), want)
	}
	b.Reset()
	if p.Clear(); b.String() != "" {
		t.Errorf("a second Clear wrote %q", b.String())
	}
}

// TestProgressCovers shows that a shorter line covers a longer one.
func TestProgressCovers(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, ProgressOptions{Columns: func() int { return 80 }})
	p.Show(&Interval{Seconds: 1, Good: 1_000_000, P99NS: 123_000})
	b.Reset()
	p.Show(&Interval{AtNS: 1e9, Seconds: 1, Good: 10})
	if want := "\r2 s  10/s  p99 -  errors 0            "; b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}

func TestProgressElsewhere(t *testing.T) {
	tests := []struct {
		name string
		o    ProgressOptions
		n    int
		want string
	}{
		{"short", ProgressOptions{Duration: 3 * time.Second}, 3, "1 s of 3 s  1,000/s  p99 1.00 ms  errors 0\n2 s of 3 s  1,000/s  p99 2.00 ms  errors 1\n3 s of 3 s  1,000/s  p99 3.00 ms  errors 0\n"},
		{"long", ProgressOptions{Duration: time.Minute}, 11, "1 s of 60 s  1,000/s  p99 1.00 ms  errors 0\n6 s of 60 s  1,000/s  p99 6.00 ms  errors 3\n11 s of 60 s  1,000/s  p99 11.0 ms  errors 2\n"},
		{"count", ProgressOptions{Count: 4000}, 6, "1,000 of 4,000 requests, 1 s  1,000/s  p99 1.00 ms  errors 0\n6,003 of 4,000 requests, 6 s  1,000/s  p99 6.00 ms  errors 3\n"},
		{"endless", ProgressOptions{}, 1, "1 s  1,000/s  p99 1.00 ms  errors 0\n"},
	}
	for _, tt := range tests {
		var b strings.Builder
		p := NewProgress(&b, tt.o)
		for i := range tt.n {
			p.Show(second(i))
		}
		p.Clear()
		if b.String() != tt.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", tt.name, b.String(), tt.want)
		}
	}
}

// TestProgressOfShortIntervals shows that lines come each second, and one at the end.
func TestProgressOfShortIntervals(t *testing.T) {
	var b strings.Builder
	p := NewProgress(&b, ProgressOptions{Duration: 2300 * time.Millisecond})
	for i := range 23 {
		p.Show(&Interval{AtNS: int64(i) * 1e8, Seconds: 0.1, Good: 100, P99NS: int64(i+1) * 1e6})
	}
	want := "1 s of 2.30 s  1,000/s  p99 10.0 ms  errors 0\n2 s of 2.30 s  1,000/s  p99 20.0 ms  errors 0\n2.30 s of 2.30 s  1,000/s  p99 23.0 ms  errors 0\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestProgressBeforeAndAfter shows that there is a line each second while connections are
// opened and while the last responses are missing, however long the run is.
func TestProgressBeforeAndAfter(t *testing.T) {
	o := ProgressOptions{Connections: 2000, Duration: 20 * time.Second}
	var b strings.Builder
	p := NewProgress(&b, o)
	p.ShowOpening(0)
	p.ShowOpening(1999)
	for i := range 19 {
		p.Show(second(i))
	}
	b.Reset()
	p.ShowOpening(2000)
	p.Show(&Interval{AtNS: 19e9, Seconds: 1, Good: 500, P99NS: 1e6})
	p.Show(&Interval{AtNS: 20e9, Seconds: 1})
	p.Show(&Interval{AtNS: 21e9, Seconds: 1, Good: 7, Bad: 3, P99NS: 2e9})
	want := "opening connections, 2,000 of 2,000\n" +
		"21 s, waiting for the last responses  0/s  p99 -  no good response for 1 s\n22 s, waiting for the last responses  7/s  p99 2.00 s  errors 3\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	o.Columns = func() int { return 80 }
	p = NewProgress(&b, o)
	p.ShowOpening(12)
	p.Show(&Interval{AtNS: 20e9, Seconds: 1})
	want = "\ropening connections, 12 of 2,000\r21 s, waiting for the last responses  0/s  p99 -  no good response for 1 s"
	if b.String() != want {
		t.Errorf("on a terminal: got %q, want %q", b.String(), want)
	}
}

// TestProgressOfOutage shows that a second without a good response is told in whole lines and
// on a terminal, and that an attempt to connect that fails is an error.
func TestProgressOfOutage(t *testing.T) {
	good := Interval{Seconds: 1, Good: 1000, P99NS: 1e6}
	silent, refused := Interval{Seconds: 1}, Interval{Seconds: 1, Bad: 2, NotConnected: 43}
	tests := []struct {
		name string
		o    ProgressOptions
		in   []Interval
		want string
	}{
		{"it hangs", ProgressOptions{Duration: 3 * time.Second}, []Interval{good, silent, silent},
			"1 s of 3 s  1,000/s  p99 1.00 ms  errors 0\n2 s of 3 s  0/s  p99 -  no good response for 1 s\n3 s of 3 s  0/s  p99 -  no good response for 2 s\n"},
		{"it refuses", ProgressOptions{Duration: 2 * time.Second}, []Interval{good, refused},
			"1 s of 2 s  1,000/s  p99 1.00 ms  errors 0\n2 s of 2 s  0/s  p99 -  errors 45  no good response for 1 s\n"},
		{"within a line", ProgressOptions{Duration: time.Minute}, []Interval{good, good, silent, refused, good, good},
			"1 s of 60 s  1,000/s  p99 1.00 ms  errors 0\n6 s of 60 s  600/s  p99 1.00 ms  errors 45  no good response for 2 s\n"},
		{"on a terminal", ProgressOptions{Columns: func() int { return 80 }}, []Interval{{Seconds: 0.5}, {Seconds: 0.5}},
			"\r500 ms  0/s  p99 -  errors 0\r1 s  0/s  p99 -  no good response for 1 s"},
	}
	for _, tt := range tests {
		var b strings.Builder
		p := NewProgress(&b, tt.o)
		at := int64(0)
		for _, in := range tt.in {
			in.AtNS = at
			at += int64(in.Seconds * 1e9)
			p.Show(&in)
		}
		if b.String() != tt.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", tt.name, b.String(), tt.want)
		}
	}
}

func TestCSV(t *testing.T) {
	in := []Interval{*second(0), *second(1)}
	in[1].ServerCPU, in[1].Others = -1, -1
	var b strings.Builder
	if err := WriteCSV(&b, in); err != nil {
		t.Fatal(err)
	}
	golden(t, "intervals.csv", b.String())
}

func TestFormats(t *testing.T) {
	tests := []struct{ got, want string }{
		{FormatDuration(0), "0 ns"},
		{FormatDuration(999), "999 ns"},
		{FormatDuration(1000), "1.00 µs"},
		{FormatDuration(12_345), "12.3 µs"},
		{FormatDuration(999_499), "999 µs"},
		{FormatDuration(999_500), "1.00 ms"},
		{FormatDuration(99_960_000), "100 ms"},
		{FormatDuration(3_600_000_000_000), "3600 s"},
		{FormatDuration(-1500), "-1.50 µs"},
		{FormatBytes(0), "0 B"},
		{FormatBytes(1_234_567), "1.23 MB"},
		{FormatBytes(-5), "-5 B"},
		{FormatCount(0), "0"},
		{FormatCount(999), "999"},
		{FormatCount(-1_234_567), "-1,234,567"},
		{FormatRate(12_345.6), "12,346"},
		{FormatRate(0.1234), "0.12"},
		{FormatRate(99.96), "100"},
		{FormatShare(0), "0 %"},
		{FormatShare(0.0001), "under 0.1 %"},
		{FormatShare(0.014), "1.4 %"},
		{FormatShare(0.5), "50 %"},
		{FormatShare(0.9999), "99.9 %"},
		{FormatShare(1), "100 %"},
		{printable("a\x1b[2J\r\n\x00\xff\u202eb", 100), "a?[2J?????b"},
		{printable("hello", 5), "hello"},
		{printable("hello!", 5), "hell~"},
		{printable("äöüäöü", 3), "äö~"},
		{wrap("one two  three", 7), "one two\nthree"},
		{wrap("verylongword x", 5), "very~\nx"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
