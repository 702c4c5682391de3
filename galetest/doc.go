// Package galetest helps to test programs that use Gale, as net/http/httptest does for
// net/http.
//
//	func TestHello(t *testing.T) {
//		r := galetest.Record(handler, galetest.NewContext("GET", "/?name=Ann", nil))
//		if got := string(r.Response.Body()); got != "Hello, Ann!\n" {
//			t.Errorf("got %q", got)
//		}
//	}
//
// There are two ways to test a handler:
//
//   - [Record] calls it with a context from [NewContext] and returns the response. It
//     writes no bytes to a connection and starts no goroutine, so it is fast.
//   - [NewServer] starts a real server that listens in memory, and comes with a client.
//     Requests and responses go over a connection, with limits, timeouts, keep-alive and
//     streaming. [NewTLSServer] adds TLS. With Server.Network the server listens on TCP
//     instead, for clients that can't dial in memory.
package galetest
