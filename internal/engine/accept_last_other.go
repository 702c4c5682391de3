//go:build !unix

package engine

import "time"

// queueWait is how long Accept waits for a connection. This system can't tell whether the
// queue is empty; it is taken to be empty if none has come by then.
const queueWait = 50 * time.Millisecond

const canLook = false

func anyQueued(queueListener) bool { return true }
