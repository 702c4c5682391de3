//go:build !linux && !darwin

package upload

import (
	"errors"
	"os"
)

// renameNew isn't possible on this system without a race.
func renameNew(*os.Root, string, string) error { return errors.ErrUnsupported }
