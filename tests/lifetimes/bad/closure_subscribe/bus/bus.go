// Package bus calls functions when there are events.
package bus

import (
	"sync"
)

var (
	mu          sync.Mutex
	subscribers []func(event string) string
)

// Subscribe calls f for each event from now on.
func Subscribe(f func(event string) string) {
	mu.Lock()
	defer mu.Unlock()
	subscribers = append(subscribers, f)
}

// Publish calls all subscribers and returns what the first one said.
func Publish(event string) string {
	mu.Lock()
	defer mu.Unlock()
	said := ""
	for _, f := range subscribers {
		if s := f(event); said == "" {
			said = s
		}
	}
	return said
}
