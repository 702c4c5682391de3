//go:build !unix

package engine

import "time"

// queueWait is how long Accept waits for a connection, where the queue can't be looked at: it
// is empty if none has come by then.
const queueWait = 50 * time.Millisecond

const canLook = false

func anyQueued(queueListener) bool { return true }
