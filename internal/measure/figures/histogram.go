package figures

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Longest is the longest duration that a Histogram tells from longer ones.
const Longest = time.Hour

// Histogram counts durations, each with an error of at most 0.1 %. It is not safe for
// concurrent use.
type Histogram struct {
	h *hdr.Histogram
}

// NewHistogram returns an empty histogram. It has its final size, some 270 kB.
func NewHistogram() *Histogram {
	return &Histogram{hdr.New(1, int64(Longest), 3)}
}

// Add counts d. What is below 1 ns counts as 1 ns, what is above Longest as Longest.
func (h *Histogram) Add(d time.Duration) {
	_ = h.h.RecordValue(min(max(int64(d), 1), int64(Longest)))
}

// Merge adds what o has counted.
func (h *Histogram) Merge(o *Histogram) { h.h.Merge(o.h) }

// Reset forgets everything.
func (h *Histogram) Reset() { h.h.Reset() }

// Count returns how many durations were counted.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// At returns the duration that a share of the counted ones doesn't exceed: 0.99 is p99.
func (h *Histogram) At(share float64) time.Duration {
	return time.Duration(h.h.ValueAtPercentile(share * 100))
}

// Distribution returns the percentiles of h, with the histogram itself if whole is true.
func (h *Histogram) Distribution(whole bool) (Distribution, error) {
	d := Distribution{Count: h.Count()}
	if d.Count == 0 {
		return d, nil
	}
	d.MinNS, d.MaxNS = h.h.Min(), h.h.Max()
	d.P50NS, d.P75NS, d.P90NS = int64(h.At(.5)), int64(h.At(.75)), int64(h.At(.9))
	d.P99NS, d.P999NS, d.P9999NS = int64(h.At(.99)), int64(h.At(.999)), int64(h.At(.9999))
	if !whole {
		return d, nil
	}
	text, err := h.h.Encode(hdr.V2CompressedEncodingCookieBase)
	d.Histogram = string(text)
	return d, err
}

// Decode returns the histogram of d. The error says that there is none or that it is not
// valid.
func (d *Distribution) Decode() (*Histogram, error) {
	h, err := hdr.Decode([]byte(d.Histogram))
	if err != nil {
		return nil, err
	}
	return &Histogram{h}, nil
}
