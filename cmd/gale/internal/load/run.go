package load

import (
	"context"
	"errors"

	"github.com/galehttp/gale/internal/measure/figures"
)

// Run carries out p. It ends when the plan does or ctx is done, whichever comes first, and
// then returns what was measured: all of figures.Run that describes requests, connections,
// the schedule, targets, steps and intervals, and of Generator what its loops know (Busy,
// Wait). The error says why nothing could be measured; that requests failed is no error.
func Run(ctx context.Context, p *Plan) (*figures.Run, error) {
	return nil, errors.New("load: not there yet")
}
