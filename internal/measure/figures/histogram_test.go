package figures

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample returns n durations between some microseconds and some seconds.
func sample(n int, seed uint64) []time.Duration {
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration(200_000 * (0.1 + r.ExpFloat64()*r.ExpFloat64()*r.ExpFloat64()))
	}
	return all
}

func histogram(all []time.Duration) *Histogram {
	h := NewHistogram()
	for _, d := range all {
		h.Add(d)
	}
	return h
}

// TestHistogramPrecision compares percentiles with those of the sorted durations.
func TestHistogramPrecision(t *testing.T) {
	all := sample(100_000, 1)
	h := histogram(all)
	slices.Sort(all)
	for _, share := range []float64{0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1} {
		want := float64(all[int(math.Ceil(share*float64(len(all))))-1])
		for name, limit := range map[*Histogram]float64{h: 0.0011, h.Coarse(): 0.011} {
			if got := float64(name.At(share)); got < want*(1-limit) || got > want*(1+limit)*1.0005 {
				t.Errorf("At(%v) = %v, want %v within %v", share, got, want, limit)
			}
		}
	}
}

func TestHistogramBounds(t *testing.T) {
	h := NewHistogram()
	h.Add(-time.Second)
	h.Add(0)
	h.Add(2 * Longest)
	if h.Count() != 3 || h.At(0.5) != 1 || float64(h.At(1)) < float64(Longest)*0.999 {
		t.Errorf("count %d, p50 %v, max %v", h.Count(), h.At(0.5), h.At(1))
	}
}

func TestHistogramEncode(t *testing.T) {
	for _, n := range []int{0, 1, 100, 50_000} {
		h := histogram(sample(n, 2))
		d, err := h.Distribution(true)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if _, err := d.Decode(); err == nil || d != (Distribution{}) {
				t.Error("an empty histogram has text")
			}
			continue
		}
		back, err := d.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := back.Distribution(true); err != nil || again != d {
			t.Errorf("decoded and encoded, the distribution of %d is %+v (%v), want %+v", n, again, err, d)
		}
		coarse, err := h.Coarse().Encode()
		if err != nil || len(d.Histogram) > 12_000 || len(coarse) > 2_500 {
			t.Errorf("%d durations take %d bytes, and %d if coarse (%v)", n, len(d.Histogram), len(coarse), err)
		}
	}
}

// TestHistogramMerge shows that decoded histograms merge without loss.
func TestHistogramMerge(t *testing.T) {
	a, b := sample(30_000, 3), sample(20_000, 4)
	want, _ := histogram(append(slices.Clone(a), b...)).Distribution(true)
	sum := NewHistogram()
	for _, part := range [][]time.Duration{a, b} {
		d, _ := histogram(part).Distribution(true)
		h, err := d.Decode()
		if err != nil {
			t.Fatal(err)
		}
		sum.Merge(h)
	}
	if got, _ := sum.Distribution(true); !reflect.DeepEqual(got, want) {
		t.Errorf("merged: %+v, want %+v", got, want)
	}
}

func TestHistogramNotValid(t *testing.T) {
	good, _ := histogram(sample(100, 5)).Encode()
	for _, text := range []string{"", "x", "HISTFAAAAA==", good[:len(good)/2], strings.Repeat("A", maxEncoded+4), strings.Repeat("A", 64)} {
		d := Distribution{Histogram: text}
		if _, err := d.Decode(); err == nil {
			t.Errorf("%.40q... is valid", text)
		}
	}
}

func FuzzHistogramDecode(f *testing.F) {
	good, _ := histogram(sample(100, 5)).Encode()
	f.Add(good)
	f.Add("HISTFAAAAA==")
	f.Fuzz(func(t *testing.T, text string) {
		if h, err := decode(text); err == nil {
			if h.Count() < 0 || h.At(1) < h.At(0.5) {
				t.Errorf("count %d, p50 %v, max %v", h.Count(), h.At(0.5), h.At(1))
			}
		}
	})
}

func BenchmarkHistogramCoarse(b *testing.B) {
	h := histogram(sample(100_000, 6))
	b.ReportAllocs()
	for b.Loop() {
		h.Coarse()
	}
}
