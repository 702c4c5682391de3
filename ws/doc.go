// Package ws has WebSockets (RFC 6455) for servers and clients of package gale.
//
// There are two ways to serve a WebSocket. [Serve] calls the methods of a [Handler] when
// something has arrived on a [Socket]. On the event engine an idle WebSocket then uses no
// goroutine and no buffer:
//
//	type echo struct{ ws.Base }
//
//	func (echo) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) {
//		_ = s.Write(t, data)
//	}
//
//	func handler(ctx *gale.RequestCtx) {
//		if err := ws.Serve(ctx, echo{}, nil); err != nil {
//			log.Println(err) // the response says what is wrong with the request
//		}
//	}
//
// [Accept] gives a function a [Conn], whose methods block. It is easier to use, and needs a
// goroutine for each connection. [Dial] opens a WebSocket as a client and returns a Conn.
// All of them work on both engines, over TLS, and over HTTP/2 (RFC 8441) if
// gale.HTTP2Config.WebSocket is set.
//
// The package answers pings, does the closing handshake and checks everything that
// RFC 6455 says about frames. A text message that isn't valid UTF-8 ends the connection with
// status code 1007.
//
// By default, only web pages of the same host may connect: see [Options.Origins].
// [Options] also has the limits, the time limits, and compression (RFC 7692). [Topics] sends
// a message to many WebSockets.
//
// The timeouts of gale.Server don't apply to WebSockets; those of [Options] do. Server.Stats,
// Concurrency and MaxConnsPerIP count them. When the server shuts down or drains, it closes
// them with [StatusGoingAway], and Shutdown waits for the closing handshakes. Server.Close
// ends them without a handshake.
package ws
