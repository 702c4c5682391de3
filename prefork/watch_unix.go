//go:build !windows

package prefork

import (
	"os"
	"time"
)

// watchMaster calls died when the master has ended, unless ended is closed first. An
// orphan gets another parent; that is the only sign that all these systems have.
func watchMaster(died func(), ended <-chan struct{}) {
	tick := time.NewTicker(deathInterval)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			if os.Getppid() != parent {
				died()
				return
			}
		}
	}
}
