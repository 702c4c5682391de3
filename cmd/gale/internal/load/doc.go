// Package load sends requests and measures the answers: the generator of gale bench.
//
// # Flow
//
// Run checks the plan and starts the loops. A loop
// is one goroutine on a thread of its own. It owns its connections and what it counts, and
// shares nothing with other loops per request. It opens its connections and waits until
// all loops have done so. Then the time of the run begins: first the warm-up, then the
// counted time.
//
// A loop waits for events of its sockets, reads, parses, and writes the next requests. On
// Linux the sockets are raw and the loop waits in epoll. Elsewhere it uses goroutines
// and package net. Both have the interface network, and connections don't know which one
// it is: they take bytes and give bytes. TLS is crypto/tls between the two; its handshakes
// run on goroutines of their own. internal/h1, internal/h2 and internal/wsframe are the
// protocols. Over a WebSocket, a request is a message and its response is the same message
// that the server sends back.
//
// # Ends of connections
//
// The side that closes a connection first has to remember it for a minute (TIME_WAIT). A
// generator that did so would run out of ports. So the last request of a connection of
// HTTP/1.1 says "Connection: close", and the server closes. If it doesn't do so within a
// second, and after errors, the connection is reset, which leaves nothing in memory. A
// server that never closes is waited for a few times only. A connection of HTTP/2 that has
// had its last response is reset too. At the end of a run connections are closed, except
// that those with requests in flight are reset.
//
// Requests that a server has surely not processed, because it sent GOAWAY or closed after a
// response that said so, are sent again over the next connection in that place.
//
// # Intervals
//
// The goroutine of watch takes what the loops have counted at each boundary between
// intervals, and calls Tick. A timeline keeps the intervals. It puts neighbours together, so
// that there are at most maxIntervals.
//
// # What is measured
//
//   - Latency. In a closed loop it begins before the write(2) of the request. In an open
//     loop it begins at the intended start. It ends after the read(2) that completed the
//     response. The clock is read once for each read, and that reading is also the start of
//     the requests that are written next.
//   - In a closed loop the distribution has complete responses, with those that didn't meet
//     the expectations. Requests in flight at the end of Duration are cut off: they are
//     Unanswered and not in the distribution. A stalled server therefore shows in the
//     maximum, in the rate, and from a second on as an outage, but hardly in the percentiles.
//   - In an open loop the distribution has every start of the schedule, so that nothing can
//     hide: responses with their latency; requests that failed with the time until then;
//     requests that are unanswered at the end and starts that were never sent with their age.
//     After the last start a loop waits for answers for Timeout, at most grace.
//   - A request that got no response within Timeout is Failed, of the kind "timeout". Its
//     connection is closed and opened again, so the requests after it in the pipeline fail
//     too. A start that waited for a free connection for Timeout is never sent.
//   - An attempt to connect that fails, with the handshakes of TLS and WebSocket, is counted
//     apart from requests (NotConnected). Shares of failures have both.
//   - An outage is a silence of a second or more: a time between two good responses, or one
//     and the end of the counted time. Loops note the first and the last good response of
//     each collection, so that the length of intervals doesn't matter. A silence isn't an
//     outage if no response should have come, or while a loop itself stood still.
//   - Wait is an upper bound. It is the time from when bytes of a response could have been
//     seen to the end of the read that took them. If poll blocked, that is when it returned.
//     If it didn't, the bytes may be as old as the return of the poll before it.
//   - Busy is the share of the time that a loop was not in poll. To wait for the schedule
//     isn't load, also when the loop looks for events in turns in the last microseconds before a start.
package load
