// Package bus holds events.
package bus

var events = []string{"ready", "done"}

// Each calls f for each event, in order, and returns when all calls have.
func Each(f func(event string)) {
	for _, e := range events {
		f(e)
	}
}
