// Gws is the lab's server on github.com/lxzan/gws, for WebSocket only.
package main

import (
	"log"
	"net/http"

	"github.com/galehttp/gale/lab/servers/work"
	"github.com/lxzan/gws"
)

type echo struct{ gws.BuiltinEventHandler }

func (echo) OnMessage(c *gws.Conn, m *gws.Message) {
	defer m.Close()
	_ = c.WriteMessage(m.Opcode, m.Bytes())
}

func main() {
	o := work.Parse()
	upgrader := gws.NewUpgrader(echo{}, &gws.ServerOption{CheckUtf8Enabled: true, ReadMaxPayloadSize: work.MaxBody, WriteMaxPayloadSize: work.MaxBody})
	http.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r)
		if err != nil {
			return
		}
		go c.ReadLoop()
	})
	log.Fatal(http.ListenAndServe(o.Addr, nil))
}
