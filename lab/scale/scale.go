// Package scale measures how the engines' work for a request changes with the number of
// their loops.
package scale

import (
	"errors"
	"io"
)

// Main runs "lab scale" with its arguments.
func Main(args []string, stdout, stderr io.Writer) error {
	return errors.New("scale: not there yet")
}
