package figures

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"
)

// columns are those of WriteCSV: a name, and the value of an interval.
var columns = []struct {
	name  string
	value func(*Interval) string
}{
	{"at_s", func(i *Interval) string { return decimal(time.Duration(i.AtNS).Seconds()) }},
	{"seconds", func(i *Interval) string { return decimal(i.Seconds) }},
	{"good", func(i *Interval) string { return whole(i.Good) }},
	{"bad", func(i *Interval) string { return whole(i.Bad) }},
	{"not_connected", func(i *Interval) string { return whole(i.NotConnected) }},
	{"requests_per_second", func(i *Interval) string { return decimal(ratio(float64(i.Good), i.Seconds)) }},
	{"intended_per_second", func(i *Interval) string { return notZero(decimal(i.Rate)) }},
	{"p50_ns", func(i *Interval) string { return notZero(whole(i.P50NS)) }},
	{"p90_ns", func(i *Interval) string { return notZero(whole(i.P90NS)) }},
	{"p99_ns", func(i *Interval) string { return notZero(whole(i.P99NS)) }},
	{"max_ns", func(i *Interval) string { return notZero(whole(i.MaxNS)) }},
	{"late_p99_ns", func(i *Interval) string { return notZero(whole(i.LateP99NS)) }},
	{"generator_cpu", func(i *Interval) string { return known(i.GeneratorCPU) }},
	{"server_cpu", func(i *Interval) string { return known(i.ServerCPU) }},
	{"others", func(i *Interval) string { return known(i.Others) }},
	{"server_memory_byte", func(i *Interval) string { return notZero(whole(i.ServerMemory)) }},
	{"goroutines", func(i *Interval) string { return notZero(whole(int64(i.Goroutines))) }},
	{"heap_byte", func(i *Interval) string { return notZero(whole(i.HeapByte)) }},
}

// WriteCSV writes a row of names and a row for each interval. Names and units are those of
// the document; what is unknown is empty.
func WriteCSV(w io.Writer, intervals []Interval) error {
	c := csv.NewWriter(w)
	row := make([]string, len(columns))
	for i, col := range columns {
		row[i] = col.name
	}
	if err := c.Write(row); err != nil {
		return err
	}
	for n := range intervals {
		for i, col := range columns {
			row[i] = col.value(&intervals[n])
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
func whole(n int64) string     { return strconv.FormatInt(n, 10) }

// notZero leaves 0 out, where it means that there is no such value.
func notZero(s string) string {
	if s == "0" {
		return ""
	}
	return s
}

func known(v float64) string {
	if v < 0 {
		return ""
	}
	return decimal(v)
}
