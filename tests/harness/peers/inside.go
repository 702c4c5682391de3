package peers

import (
	"fmt"
	"testing"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness/await"
)

// What a server holds. Each s is a *gale.Server.

// OpenStreams returns the number of open streams.
func OpenStreams(s any) int { return door.InsideOf(s).Streams }

// WantStreams waits until n streams are open on all connections of HTTP/2.
func WantStreams(t *testing.T, s any, n int) {
	t.Helper()
	has := func() bool { return OpenStreams(s) == n }
	if n == 0 {
		await.Gone(t, "streams", has)
		return
	}
	await.Until(t, fmt.Sprintf("%d streams", n), has)
}

// WantCalm waits until no stream is open on the connections of HTTP/2, and nothing of streams
// is left.
func WantCalm(t *testing.T, s any) {
	t.Helper()
	await.Gone(t, "streams", func() bool {
		in := door.InsideOf(s)
		return in.Streams == 0 && in.Calm
	})
}

// WantNoWaiters waits until nothing waits for a shutdown any more.
func WantNoWaiters(t *testing.T, s any) {
	t.Helper()
	await.Gone(t, "requests that wait", func() bool { return door.InsideOf(s).Waiters == 0 })
}

// AwaitShutdown waits until a shutdown has begun.
func AwaitShutdown(t *testing.T, s any) {
	t.Helper()
	await.Until(t, "the shutdown to begin", func() bool { return door.InsideOf(s).Shutdowns > 0 })
}

// WaitClosed waits until a server has no connection.
func WaitClosed(t *testing.T, s interface{ GetOpenConnectionsCount() int32 }, what string) {
	t.Helper()
	await.Until(t, "the end of connections: "+what, func() bool { return s.GetOpenConnectionsCount() == 0 })
}
