package msg

import (
	"testing"

	"github.com/galehttp/gale/internal/pool/pooltest"
)

// TestPooledForgets: what is used again is like new, field by field.
func TestPooledForgets(t *testing.T) {
	c := &pooltest.Check{
		Memory: []string{"msg.Fields.Buf", "msg.Fields.Recs"},
		Keep: map[string]string{
			"msg.Fields.first": "counts only where seen says so",
			"msg.Fields.last":  "what PutAgain compares with: lines that are compared and never shown",
		},
	}
	pooltest.Run(t, c, pooltest.Object[suspended]{
		New:    func() *suspended { return new(suspended) },
		Forget: func(s *suspended) { s.drop(); pooltest.TakeBack(&spare, s) },
	})
	c.Unused(t)
}
