package figures

import "math"

// minIntervals is how many intervals of a second or more a statement about their rates
// needs.
const minIntervals = 5

// spread returns the standard deviation of the rates of counted intervals around their trend, beyond
// what chance explains, and the trend over the run, both as shares of the average rate. It
// returns -1 and 0 if there are too few intervals.
func spread(intervals []Interval) (deviation, trend float64) {
	n := float64(len(intervals))
	if len(intervals) < minIntervals {
		return -1, 0
	}
	var sum, responses float64
	rates := make([]float64, len(intervals))
	for i, in := range intervals {
		rates[i] = ratio(float64(in.Good+in.Bad), in.Seconds)
		sum += rates[i]
		responses += float64(in.Good + in.Bad)
	}
	average := sum / n
	if average <= 0 {
		return -1, 0
	}
	slope, residuals := detrend(rates)
	var squares float64
	for _, r := range residuals {
		squares += r * r
	}
	variance := squares / (n - 2) / (average * average)
	chance := n / responses // of a Poisson process with as many responses per interval
	return math.Sqrt(max(variance-chance, 0)), slope * (n - 1) / average
}

// change returns how the rate of the last third of counted intervals differs from that of the
// first third, as a share of the latter: -1 at the least. It returns 0 if there is none.
func change(intervals []Interval) float64 {
	n := max(len(intervals)/3, 1)
	if len(intervals) < minIntervals {
		return 0
	}
	first, last := joined(intervals[:n]), joined(intervals[len(intervals)-n:])
	before := ratio(float64(first.Good+first.Bad), first.Seconds)
	if before == 0 {
		return 0
	}
	return ratio(float64(last.Good+last.Bad), last.Seconds)/before - 1
}

// usedWhenSlow returns the share of a machine's cores that was used in the intervals whose rate
// was below the average.
func usedWhenSlow(intervals []Interval, cpus float64) float64 {
	var responses, seconds, used, slow float64
	for i := range intervals {
		responses += float64(intervals[i].Good + intervals[i].Bad)
		seconds += intervals[i].Seconds
	}
	for i := range intervals {
		in := &intervals[i]
		if float64(in.Good+in.Bad)*seconds < responses*in.Seconds {
			used += (in.GeneratorCPU + max(in.ServerCPU, 0) + max(in.Others, 0)*cpus) * in.Seconds
			slow += in.Seconds
		}
	}
	return ratio(used, slow*cpus)
}

// detrend returns the slope per step of a straight line through v, and v without it.
func detrend(v []float64) (slope float64, residuals []float64) {
	n := float64(len(v))
	middle := (n - 1) / 2
	var average, covariance, variance float64
	for i, y := range v {
		average += y / n
		x := float64(i) - middle
		covariance += x * y
		variance += x * x
	}
	slope = ratio(covariance, variance)
	residuals = make([]float64, len(v))
	for i, y := range v {
		residuals[i] = y - average - slope*(float64(i)-middle)
	}
	return slope, residuals
}

// kept returns the share of the intended rate that was answered in the second half of the
// counted intervals, or 1 if there are too few.
func kept(intervals []Interval) float64 {
	if len(intervals) < 2 {
		return 1
	}
	var answered, intended float64
	for _, in := range intervals[len(intervals)/2:] {
		answered += float64(in.Good + in.Bad)
		intended += in.Rate * in.Seconds
	}
	if intended <= 0 {
		return 1
	}
	return answered / intended
}
