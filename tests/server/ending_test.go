package server

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// ending is what Shutdown does with one kind of work.
type ending struct {
	waits bool   // it returns after the end of the work, else before it
	told  string // what the work and its client notice before that; see task.noticed
}

func stays(told string) ending   { return ending{true, told} }
func returns(told string) ending { return ending{false, told} }

// Protocols that a kind of work exists on.
const (
	h1 = 1 << iota
	h2
	eventOnly
	both = h1 | h2
)

// endings are all kinds of work, and what the calls that end a server do with them. Close returns
// while any of them runs. Left out are
//
//   - a connection that waits for a worker of the block engine: each has a goroutine at once, so
//     there is nothing between ConnState and the first byte that a test could hold;
//   - net/http handlers of package adaptor: TestShutdownAndContext of that package has them;
//   - what is done while the server drains: see TestDrainAndDone and those beside it;
//   - ServeConn, which is a call of the program: see TestServeConnDuringShutdown.
var endings = []struct {
	kind
	shutdown ending // of Shutdown, and of ShutdownWithContext until its context ends
	closed   string // told by Close
	left     string // told when the client breaks the connection
	after    ending // of Shutdown after that, and, as to waits, of Shutdown after Close
}{
	// Connections on which no code of the program runs.
	{idleConn, returns("closed"), "closed", "", returns("")},
	{handshake, returns("closed"), "closed", "", returns("")},
	{headInPart, stays(""), "closed", "", returns("")},
	{bodyInPart, stays(""), "closed", "", returns("")},
	{unreadResponse, stays(""), "closed", "", returns("")},

	// Functions that run for a connection.
	{inConnState, stays(""), "", "", stays("")},
	{inConnContext, stays(""), "", "", stays("")},
	{inConnStateClosed, stays(""), "", "", stays("")},
	{inGetConfig, stays("closed"), "closed", "", stays("")},

	// Functions that run for a request.
	{inHandler, stays("done"), "closed done", "done", stays("done")},
	{inTwoHandlers, stays("done"), "closed done", "done", stays("done")},
	{inWaitingHandler, stays("done"), "closed done", "done", stays("done")},
	{inLateHandler, returns("done"), "done", "done", returns("done")},
	{inBeforeSend, stays("done"), "closed done", "done", stays("done")},
	{inBodyRead, stays("done"), "closed done read", "done read", stays("done read")},
	{inStreamWriter, stays("done"), "closed done", "done", stays("done")},
	{inStreamWrite, stays("done"), "closed done write", "done write", stays("done write")},
	{inAfterSend, stays(""), "closed", "", stays("")},
	{inValueClose, stays(""), "closed", "", stays("")},

	// Contexts that belong to the program.
	{inDetached, stays("context"), "closed context", "context", stays("context")},
	{afterDetached, returns(""), "", "", returns("")},

	// Connections that belong to the program.
	{hijacked, returns("open"), "open", "read", returns("read")},
	{hijackedNow, returns("open"), "open", "read", returns("read")},
	{hijackedInHandler, stays("done"), "done", "", stays("done")},
	{connectTunnel, returns("open"), "open", "read", returns("read")},
	{hijackedCounted, stays("leave open"), "closed leave read", "read", stays("leave read")},
	{connectCounted, stays("leave open"), "closed leave read", "read", stays("leave read")},
	{hijackedStream, stays("open"), "closed read", "read", stays("read")},
	{hijackedStreamNow, stays("open"), "closed read", "read", returns("read")}, // the stream has ended
	{upgraded, stays("open stop"), "closed ErrClosed stop?", "end", stays("end")},
	{upgradedByPump, stays("open stop"), "closed ErrClosed stop?", "end", stays("end")},
	{inReceived, stays(""), "closed", "", stays("")},
	{inWebSocketAccept, stays("1001 over"), "closed 1001? over", "over", stays("over")},
	{inWebSocketOnMessage, stays(""), "closed", "", stays("")},
	{inWebSocketOnClose, stays("1001 over"), "closed 1001? over", "over", stays("over")},
}

// TestEndings proves, for each kind of work, what Shutdown, ShutdownWithContext and Close promise:
// whether they wait for it, and what tells it. When Shutdown has returned nil, nothing that it
// waits for runs.
func TestEndings(t *testing.T) {
	for _, row := range endings {
		for _, way := range row.ways() {
			t.Run(row.name+"/"+way.String(), func(t *testing.T) {
				t.Parallel()
				t.Run("Shutdown", func(t *testing.T) {
					w := row.begin(t, way)
					down := w.call(w.s.Shutdown)
					w.wantEnding(row.shutdown, down)
					w.finish()
					w.wantAnswer()
					w.wantNil(down, row.shutdown.waits)
				})
				t.Run("ShutdownWithContext", func(t *testing.T) {
					w := row.begin(t, way)
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					down := w.call(func() error { return w.s.ShutdownWithContext(ctx) })
					w.wantEnding(row.shutdown, down)
					cancel()
					if got := <-down; row.shutdown.waits && (got.err != context.Canceled || got.runs != w.n) {
						t.Errorf("returned %v while %d functions run, want the error of the context and %d", got.err, got.runs, w.n)
					}
					w.wantTold(row.shutdown.told)
					again := w.call(w.s.Shutdown)
					w.wantEnding(row.shutdown, again)
					w.finish()
					w.wantAnswer()
					w.wantNil(again, row.shutdown.waits)
				})
				t.Run("leave and Shutdown", func(t *testing.T) {
					w := row.begin(t, way)
					w.leave()
					w.wantTold(row.left)
					down := w.call(w.s.Shutdown)
					w.wantEnding(row.after, down)
					w.finish()
					w.wantNil(down, row.after.waits)
				})
				t.Run("Close", func(t *testing.T) {
					w := row.begin(t, way)
					if got := <-w.call(w.s.Close); got.err != nil || got.runs != w.n {
						t.Errorf("returned %v while %d functions run, want nil and %d", got.err, got.runs, w.n)
					}
					w.wantTold(row.closed)
					down := w.call(w.s.Shutdown)
					w.wantEnding(ending{row.after.waits, row.closed}, down)
					w.finish()
					w.wantNil(down, row.after.waits)
				})
			})
		}
	}
}

// endWay is how a client reaches the server.
type endWay struct {
	harness.H2Way
	major int
}

func (way endWay) String() string {
	return peers.WayName(way.Engine, way.TLS) + [...]string{1: ",http1", 2: ",http2"}[way.major]
}

// ways returns the ways for k. The short form has TLS only for kinds that need it.
func (k kind) ways() (all []endWay) {
	for _, e := range peers.Engines[gale.Engine]() {
		if k.on&eventOnly != 0 && e != gale.EngineEvent {
			continue
		}
		for _, secure := range []bool{false, true} {
			if secure != k.tls && (!secure || !gate.Full()) {
				continue
			}
			for i, bit := range []int{h1, h2} {
				if k.on&bit != 0 {
					all = append(all, endWay{harness.H2Way{Engine: e, TLS: secure}, i + 1})
				}
			}
		}
	}
	return all
}

// ended is how a call returned: while how many functions of the work ran.
type ended struct {
	err  error
	runs int
}

// call calls f, which ends the server, on a goroutine.
func (w *task) call(f func() error) <-chan ended {
	down := make(chan ended, 2)
	go func() {
		defer close(down)
		err := f()
		w.mu.Lock()
		defer w.mu.Unlock()
		down <- ended{err, w.runs}
	}()
	return down
}

// wantEnding waits until the call of Shutdown that sends to down has done all that it does before
// the work ends. The work runs on. A shutdown that waits for a connection is one that Draining
// reports; when no call of Serve is left, only such connections can hold it up.
func (w *task) wantEnding(want ending, down <-chan ended) {
	w.t.Helper()
	await.Until(w.t, "the end of Serve and the beginning of the shutdown", func() bool {
		in := door.InsideOf(w.s)
		return (in.Listeners == 0 || w.hook) && (in.Shutdowns > 0 || len(down) > 0)
	})
	if w.heard != nil && want.told != "" {
		w.heard(w, want.told)
		w.heard = nil // the second shutdown tells nothing
	}
	w.wantTold(want.told)
	if !want.waits {
		await.Until(w.t, "Shutdown to return while the work runs", func() bool { return len(down) > 0 })
		return
	}
	if !w.s.Draining() || len(down) > 0 {
		w.t.Error("Shutdown doesn't wait")
	}
}

// wantNil checks that a call of Shutdown returns nil, after the end of the work if it waits for
// that, else before, and that nothing is left.
func (w *task) wantNil(down <-chan ended, waits bool) {
	w.t.Helper()
	got := <-down
	if got.err != nil {
		w.t.Errorf("Shutdown: %v", got.err)
	}
	want := w.n
	if waits {
		want = 0
	}
	if got.runs != want {
		w.t.Errorf("Shutdown has returned while %d functions run, want %d", got.runs, want)
	}
	await.Gone(w.t, "work", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.runs == 0
	})
	await.Gone(w.t, "a connection", func() bool {
		return w.s.GetOpenConnectionsCount() == 0 && w.s.Stats().UpgradedConnections == 0 && !w.s.Draining()
	})
}

// wantTold waits until the work has noticed what the words of want say, and checks that it has
// noticed nothing else, except words with a question mark. The words open and closed are about the
// client's connection.
func (w *task) wantTold(want string) {
	w.t.Helper()
	var words, perhaps []string
	for _, word := range strings.Fields(want) {
		maybe, isMaybe := strings.CutSuffix(word, "?")
		switch {
		case word == "closed":
			w.wantGone()
		case word == "open":
			w.wantEcho()
		case isMaybe:
			perhaps = append(perhaps, maybe)
		default:
			words = append(words, word)
		}
	}
	for _, word := range words {
		await.Until(w.t, "the work to notice: "+word, func() bool { return slices.Contains(w.noticed(), word) })
	}
	got := slices.DeleteFunc(w.noticed(), func(word string) bool { return slices.Contains(perhaps, word) })
	if !slices.Equal(got, words) {
		w.t.Errorf("the work has noticed %q, want %q", got, words)
	}
}
