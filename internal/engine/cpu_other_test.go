//go:build !unix

package engine_test

import "time"

// cpuTime isn't known here.
func cpuTime() time.Duration { return 0 }
