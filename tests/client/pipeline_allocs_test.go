//go:build !race

package client

import (
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
	"github.com/galehttp/gale/tests/harness"
)

// A pipelined request allocates nothing.
func TestPipelineAllocs(t *testing.T) {
	c := harness.PipeServer(t, pipeAnswerAll)
	req, resp := harness.PipeReq("GET"), &gale.Response{}
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
