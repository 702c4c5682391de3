//go:build !race

package gale

import (
	"testing"
	"time"

	"github.com/galehttp/gale/internal/alloctest"
)

// A pipelined request allocates nothing.
func TestPipelineAllocs(t *testing.T) {
	c := pipeServer(t, pipeAnswerAll)
	req, resp := pipeReq("GET"), &Response{}
	for _, tt := range []struct {
		name string
		do   func() error
	}{
		{"Do", func() error { return c.Do(req, resp) }},
		{"DoTimeout", func() error { return c.DoTimeout(req, resp, time.Minute) }},
		{"DoContext", func() error { return c.DoContext(t.Context(), req, resp) }},
	} {
		n := alloctest.PerRun(500, func() {
			if err := tt.do(); err != nil {
				t.Fatal(err)
			}
		})
		if n >= 1 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
}
