package pooltest

import "github.com/galehttp/gale/internal/pool"

// TakeBack takes v out of p again, so that no other user of p gets a filled object.
// It returns false if p doesn't have it: with the race detector a pool drops some
// objects.
func TakeBack(p *pool.Pool, v any) (taken bool) {
	var others []any
	for i := 0; i < 1000 && !taken; i++ {
		switch got := p.Get(); got {
		case v:
			taken = true
		case nil: // sometimes also from a random pool that has others
		default:
			others = append(others, got)
		}
	}
	for _, o := range others[:min(len(others), 16)] {
		p.Put(o)
	}
	return taken
}
