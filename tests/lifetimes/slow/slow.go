// Package slow is work that takes longer than the handlers that start it, such as a query
// or a mail. The driver of the programs says when it is done.
package slow

import "sync"

var (
	done = make(chan struct{})
	once sync.Once
)

// Work returns after Finish was called.
func Work() { <-done }

// Finish lets all calls of Work return.
func Finish() { once.Do(func() { close(done) }) }
