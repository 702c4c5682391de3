package page

import (
	"fmt"
	"math"
)

// barsView is what the template gets of Bars.
type barsView struct {
	*Bars
	HasBaseline bool
	BaselineAt  float64 // in thousandths of the width
	Rows        []barView
}

// barView is a bar with places in thousandths of the width.
type barView struct {
	*Bar
	Text, Range string
	Width       float64
	HasRange    bool
	Whisker     string // a path
}

// newBarsView lays out the bars. The longest, with its range, takes 96 % of the width. Bars
// that don't count are cut if they are longer.
func newBarsView(b *Bars) *barsView {
	longest := b.Baseline
	for _, r := range b.Rows {
		if r.Mark == "" {
			longest = max(longest, known(r.Value), known(r.High))
		}
	}
	place := func(v float64) float64 {
		if longest <= 0 {
			return 0
		}
		return min(math.Round(max(known(v), 0)/longest*9600)/10, 1000)
	}
	v := &barsView{Bars: b, HasBaseline: b.Baseline > 0, BaselineAt: place(b.Baseline)}
	for i := range b.Rows {
		r := &b.Rows[i]
		row := barView{Bar: r, Text: format(b.Unit, r.Value), Width: place(r.Value)}
		if r.Low != r.High {
			row.HasRange, row.Whisker = true, whisker(place(r.Low), place(r.High))
			row.Range = format(b.Unit, r.Low) + " to " + format(b.Unit, r.High)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// whisker returns the path of a range: a line with an end at each side.
func whisker(from, to float64) string {
	return fmt.Sprintf("M%g 12H%gM%g 7v10M%g 7v10", from, to, from, to)
}

// known returns v, or 0 if it is no finite number.
func known(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
