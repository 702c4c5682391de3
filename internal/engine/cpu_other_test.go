//go:build !unix

package engine_test

import "time"

// cpuTime isn't available on this system.
func cpuTime() time.Duration { return 0 }
