package prefork

import "os"

// watchMaster calls died once the master is gone, unless ended comes first. An
// orphan keeps its parent's number here, but processes can be waited for.
func watchMaster(died func(), ended <-chan struct{}) {
	master, err := os.FindProcess(parent)
	if err == nil {
		_, err = master.Wait()
		_ = err // gone, or not ours to wait for
	}
	select {
	case <-ended:
	default:
		died()
	}
}
