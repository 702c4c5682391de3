//go:build !windows

package prefork

import (
	"os"
	"time"
)

// watchMaster calls died once the master is gone, unless ended comes first. An
// orphan gets another parent, which is the only sign that all systems have.
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
