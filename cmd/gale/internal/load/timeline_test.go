package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// TestTimeline proves that the intervals of a run of any length are bounded in number,
// follow each other, and add up to what was put in, with their histograms.
func TestTimeline(t *testing.T) {
	const second, most = int64(time.Second), 20
	for _, seconds := range []int64{1, 7, most, most + 1, 15, 1000} {
		r := rand.New(rand.NewPCG(uint64(seconds), 1))
		line := timeline{most: most, length: second, begin: 3 * second}
		end := line.begin + seconds*second
		h := figures.NewHistogram().Coarse() // which is faster
		var warm, counted, after, errors int64
		for at := second / 2; at < end+4*second; { // from the warm-up to the wait after the run
			to := at - at%second + second
			in := figures.Interval{AtNS: at - line.begin, Seconds: float64(to-at) / 1e9, Good: 1 + r.Int64N(9), ServerCPU: 1}
			h.Reset()
			for i := range in.Good {
				h.Add(time.Duration(at + i))
			}
			in.MaxNS = int64(h.At(1))
			switch {
			case at < line.begin:
				warm += in.Good
			case at < end:
				counted += in.Good
				in.Bad, in.Errors = 1, map[string]int64{"x": 1}
				errors++
			default:
				after += in.Good
			}
			line.add(&in, h, end)
			at = to
		}
		list, err := line.intervals()
		if err != nil || len(list) > most || int64(len(list)) < min(seconds, most/2) {
			t.Fatalf("%d s: %d intervals, %v", seconds, len(list), err)
		}
		next := second/2 - line.begin
		for i := range list {
			in := &list[i]
			if in.AtNS != next || in.ServerCPU != 1 {
				t.Fatalf("%d s: interval %d is at %d, not %d: %+v", seconds, i, in.AtNS, next, in)
			}
			next += int64(math.Round(in.Seconds * 1e9))
			switch {
			case in.AtNS < 0:
				warm -= in.Good
				if in.Histogram != "" {
					t.Errorf("%d s: the warm-up has a histogram", seconds)
				}
				continue
			case in.AtNS < seconds*second:
				counted -= in.Good
				errors -= in.Errors["x"]
			default:
				after -= in.Good
			}
			d := figures.Distribution{Histogram: in.Histogram}
			h, err := d.Decode()
			if err != nil || h.Count() != in.Good || float64(in.MaxNS) < .98*float64(h.At(1)) {
				t.Errorf("%d s: interval %d has %d latencies up to %d, not %d, %v", seconds, i, h.Count(), in.MaxNS, in.Good, err)
			}
		}
		if next != (seconds+4)*second || warm != 0 || counted != 0 || after != 0 || errors != 0 {
			t.Errorf("%d s: ends at %d, without %d, %d and %d responses and %d errors", seconds, next, warm, counted, after, errors)
		}
	}
}

// TestTimelineWidens proves that a run whose time wasn't known gets longer intervals.
func TestTimelineWidens(t *testing.T) {
	line := timeline{most: maxIntervals, length: int64(fine)}
	h := figures.NewHistogram().Coarse()
	for i := range 50 {
		h.Reset()
		h.Add(time.Duration(i + 1))
		line.add(&figures.Interval{AtNS: int64(i) * int64(fine), Seconds: fine.Seconds(), Good: 1, MaxNS: int64(i + 1)}, h, never)
	}
	line.widen(int64(coarse), never)
	list, err := line.intervals()
	if err != nil || len(list) != 5 {
		t.Fatalf("%d intervals, %v", len(list), err)
	}
	for i, in := range list {
		if in.Good != 10 || math.Abs(in.Seconds-1) > 1e-9 || in.AtNS != int64(i)*1e9 || in.MaxNS != int64(i+1)*10 || in.P50NS != int64(i)*10+5 {
			t.Errorf("%d: %+v", i, in)
		}
	}
}
