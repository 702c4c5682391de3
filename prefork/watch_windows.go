package prefork

import "os"

// watchMaster calls died when the master has ended, unless ended is closed first. On
// Windows an orphan keeps its parent's process id, but a process can wait for another
// one.
func watchMaster(died func(), ended <-chan struct{}) {
	master, err := os.FindProcess(parent)
	if err == nil {
		_, err = master.Wait()
		_ = err // the master has ended, or waiting is not allowed
	}
	select {
	case <-ended:
	default:
		died()
	}
}
