package figures

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// atLeast returns how many durations of at least d were counted, within the error of h.
func (h *Histogram) atLeast(d time.Duration) (n int64) {
	for _, bar := range h.h.Distribution() {
		if bar.From >= int64(d) {
			n += bar.Count
		}
	}
	return n
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
	var err error
	if whole {
		d.Histogram, err = h.Encode()
	}
	return d, err
}

// Coarse returns a copy of h with errors of at most 1 %, in 36 kB of memory instead of 270.
// It takes some 0.2 ms, and Encode 1.5 ms: during a run, take Coarse of each interval and
// encode it after the run.
func (h *Histogram) Coarse() *Histogram {
	c := newCoarse()
	c.Merge(h.h)
	return &Histogram{c}
}

func newCoarse() *hdr.Histogram { return hdr.New(1, int64(Longest), 2) }

// Encode returns h in its V2 compressed encoding, as base64: 2 to 8 kB, and 1 to 2 kB if it
// is from Coarse. It is "" if h is empty.
func (h *Histogram) Encode() (string, error) {
	if h.Count() == 0 {
		return "", nil
	}
	text, err := h.h.Encode(hdr.V2CompressedEncodingCookieBase)
	return string(text), err
}

// Decode returns the histogram of d. The error says that there is none or that it is not
// valid.
func (d *Distribution) Decode() (*Histogram, error) { return decode(d.Histogram) }

// maxEncoded bounds a histogram, as text and uncompressed. One of ours has at most 34,000
// counters.
const maxEncoded = 1 << 20

func decode(text string) (*Histogram, error) {
	if text == "" {
		return nil, errors.New("there is no histogram")
	}
	if err := checkEncoded(text); err != nil {
		return nil, fmt.Errorf("the histogram is not valid: %w", err)
	}
	h, err := hdr.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the histogram is not valid: %w", err)
	}
	return &Histogram{h}, nil
}

// checkEncoded looks at what says how much memory a histogram takes, before that is
// allocated.
func checkEncoded(text string) error {
	if len(text) > maxEncoded {
		return errors.New("it is too large")
	}
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(packed) < 8 { // a cookie and a length, then what is compressed
		return errors.Join(errors.New("it is not base64"), err)
	}
	z, err := zlib.NewReader(bytes.NewReader(packed[8:]))
	if err != nil {
		return err
	}
	plain, err := io.ReadAll(io.LimitReader(z, maxEncoded+1))
	switch {
	case err != nil:
		return err
	case len(plain) > maxEncoded:
		return errors.New("it is too large")
	case len(plain) < hdr.ENCODING_HEADER_SIZE:
		return errors.New("it is too short")
	}
	digits, lowest, highest := binary.BigEndian.Uint32(plain[12:]), binary.BigEndian.Uint64(plain[16:]), binary.BigEndian.Uint64(plain[24:])
	if digits > 3 || lowest != 1 || highest > 2*uint64(Longest) {
		return errors.New("it has another range or precision than those of gale bench")
	}
	return nil
}
