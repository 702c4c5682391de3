package answers

import (
	"bytes"
	"context"
	"fmt"

	"github.com/galehttp/gale/lab/plan"
	"github.com/gorilla/websocket"
)

// checkWebSocket sends a case's message twice over a WebSocket, and once as binary, and checks
// that each comes back.
func checkWebSocket(ctx context.Context, addr string, c *plan.Case) error {
	conn, _, err := websocket.DefaultDialer.DialContext(ctx, URL(addr, c), nil)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if at, ok := ctx.Deadline(); ok {
		if err := conn.SetReadDeadline(at); err != nil {
			return err
		}
	}
	message := plan.Payload(c.Request.Body)
	for _, kind := range []int{websocket.TextMessage, websocket.TextMessage, websocket.BinaryMessage} {
		if err := conn.WriteMessage(kind, message); err != nil {
			return err
		}
		got, echo, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		if got != kind || !bytes.Equal(echo, c.Request.Want.Body(message)) {
			return fmt.Errorf("a message of type %d with %d bytes, %.60q, not of type %d with %d, %.60q", got, len(echo), echo, kind, len(message), message)
		}
	}
	return nil
}
