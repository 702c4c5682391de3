//go:build !unix

package load

import "math"

// raiseFiles returns that there is no limit of open files.
func raiseFiles(uint64) uint64 { return math.MaxUint64 }
