package figures

import "math"

// student returns how many standard errors a value lies from 0 with a probability of p, to
// either side, if the error was estimated with df degrees of freedom (Student's t).
func student(p, df float64) float64 {
	df = min(df, 100) // above, it hardly changes
	low, high := 0.0, 1e4
	for range 60 {
		middle := (low + high) / 2
		if outside(middle, df) > p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// outside returns the probability of a value that is further from 0 than t, by Simpson's
// rule over the angle whose tangent is t/sqrt(df), which makes the range finite.
func outside(t, df float64) float64 {
	const steps = 200
	from, to := math.Atan(t/math.Sqrt(df)), math.Pi/2
	width := (to - from) / steps
	sum := 0.0
	for i := range steps + 1 {
		weight := 2.0
		switch {
		case i == 0 || i == steps:
			weight = 1
		case i%2 == 1:
			weight = 4
		}
		sum += weight * math.Pow(math.Max(math.Cos(from+float64(i)*width), 0), df-1)
	}
	a, _ := math.Lgamma((df + 1) / 2)
	b, _ := math.Lgamma(df / 2)
	return 2 * sum * width / 3 * math.Exp(a-b) / math.Sqrt(math.Pi)
}
