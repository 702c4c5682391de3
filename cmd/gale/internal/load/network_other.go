//go:build !linux

package load

import "time"

func newNetwork(conns int) (network, error) { return newGoNetwork(conns) }

// pauseThread sleeps.
func pauseThread(d time.Duration) { time.Sleep(d) }

// enterThread does nothing.
func enterThread() {}
