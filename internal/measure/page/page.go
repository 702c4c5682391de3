// Package page writes reports of load tests as one HTML file each, which opens offline.
package page

import (
	"errors"
	"io"

	"github.com/galehttp/gale/internal/measure/figures"
)

// Write writes the report of one run.
func Write(w io.Writer, run *figures.Run) error {
	return errors.New("page: not there yet")
}
