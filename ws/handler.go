package ws

import "github.com/galehttp/gale"

// Handler gets what arrives on WebSockets that Serve has opened. The methods are called
// one at a time for each WebSocket, in order. They may block without holding up other
// WebSockets; what arrives meanwhile waits, and so does output of this WebSocket. A panic is
// logged and closes the WebSocket with StatusInternalError. Embed Base to implement only
// some of the methods.
type Handler interface {
	// OnOpen is called first, when the handshake is done.
	OnOpen(s *Socket)
	// OnMessage is called for each message. The handler may change data. It is reused when
	// OnMessage returns: copy it to keep it. Text is valid UTF-8.
	OnMessage(s *Socket, t MessageType, data []byte)
	// OnPing is called for each ping. The pong is sent without it. data is as in OnMessage.
	OnPing(s *Socket, data []byte)
	// OnPong is called for each pong, also for those that answer the pings of
	// Options.PingInterval, which have no data. data is as in OnMessage.
	OnPong(s *Socket, data []byte)
	// OnClose is called last, once, if OnOpen was called. err is a *CloseError if the
	// WebSocket ended by a close frame of either side. It is ErrClosed after Abort, and
	// otherwise says what broke the connection. All methods of s that write return
	// ErrClosed now.
	OnClose(s *Socket, err error)
}

// Base is a Handler that does nothing.
type Base struct{}

// OnOpen does nothing.
func (Base) OnOpen(*Socket) {}

// OnMessage does nothing.
func (Base) OnMessage(*Socket, MessageType, []byte) {}

// OnPing does nothing.
func (Base) OnPing(*Socket, []byte) {}

// OnPong does nothing.
func (Base) OnPong(*Socket, []byte) {}

// OnClose does nothing.
func (Base) OnClose(*Socket, error) {}

// Serve answers the request with a WebSocket handshake, and lets h serve the WebSocket
// after the calling handler has returned. If the request isn't a valid handshake, or its
// origin isn't allowed, Serve sets the response (400, 403, 405 or 426, by
// gale.RequestCtx.Fail) and returns an error that says what is wrong. A handler that refuses
// a client for another reason sets a response and doesn't call Serve. Headers of the
// response that were set before, such as cookies, are sent; a body isn't. h must not use
// ctx. One h may serve many WebSockets; one that is made for each call can hold what it needs
// of the request, such as the name of the user. o may be nil.
//
// The response that is sent decides: after Serve, a middleware or a function of BeforeSend
// may still refuse the client, for example with 403. Then no method of h is called.
func Serve(ctx *gale.RequestCtx, h Handler, o *Options) error {
	if o == nil {
		o = &defaultOptions
	}
	shook, err := handshake(ctx, o)
	if err != nil {
		return err
	}
	ctx.Upgrade((*session)(newSocket(h, o.shared.params.get(&shook))))
	return nil
}
