// Coder is the lab's server on github.com/coder/websocket, for WebSocket only.
package main

import (
	"context"
	"io"
	"log"
	"net/http"

	"github.com/coder/websocket"
	"github.com/galehttp/gale/lab/servers/work"
)

func main() {
	o := work.Parse()
	http.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.CloseNow() }()
		c.SetReadLimit(work.MaxBody)
		echo(r.Context(), c)
	})
	log.Fatal(http.ListenAndServe(o.Addr, nil))
}

// echo uses the streams of the library, as its own example does, and one buffer.
func echo(ctx context.Context, c *websocket.Conn) {
	buf := make([]byte, 32<<10)
	for {
		t, r, err := c.Reader(ctx)
		if err != nil {
			return
		}
		w, err := c.Writer(ctx, t)
		if err != nil {
			return
		}
		if _, err := io.CopyBuffer(w, r, buf); err != nil {
			return
		}
		if w.Close() != nil {
			return
		}
	}
}
