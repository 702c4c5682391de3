package nethttpapp

import (
	"io"
	"net/http"

	"github.com/galehttp/gale/lab/servers/work"
	"github.com/gorilla/websocket"
)

// echoMessages sends each message of a WebSocket back, with github.com/gorilla/websocket.
func echoMessages(w http.ResponseWriter, r *http.Request) {
	var upgrader websocket.Upgrader
	c, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	c.SetReadLimit(work.MaxBody)
	var buf []byte
	for {
		t, message, err := c.NextReader()
		if err != nil {
			return
		}
		if buf, err = appendAll(buf[:0], message); err != nil {
			return
		}
		if c.WriteMessage(t, buf) != nil {
			return
		}
	}
}

// appendAll appends what r has.
func appendAll(dst []byte, r io.Reader) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}
