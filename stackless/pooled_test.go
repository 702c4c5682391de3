package stackless

import (
	"testing"

	"github.com/galehttp/gale/internal/pool/pooltest"
)

// TestPooledForgets: what is used again is like new, field by field.
func TestPooledForgets(t *testing.T) {
	c := &pooltest.Check{
		Stubs: []any{"canary"},
		Keep:  map[string]string{"stackless.call.done": "empty: do takes the value before it gives the call back"},
	}
	pooltest.Run(t, c, pooltest.Object[call]{
		New:    func() *call { return calls.New().(*call) },
		Forget: func(c *call) { c.free(); pooltest.TakeBack(&calls, c) },
	})
	c.Unused(t)
}
