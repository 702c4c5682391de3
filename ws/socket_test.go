package ws

import (
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/wsframe"
)

// Messages of all sizes come back, whole and in pieces, and batches.
func TestSocketEcho(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		e := newEvents()
		o := &Options{MaxMessage: 8 << 20}
		s := serveSockets(t, w, e, o)
		c := s.dial(t)
		for _, n := range []int{0, 1, 125, 126, 4000, 4082, 4083, 4096, 5000, 16 << 10, 65535, 65536, 100_000, 1 << 20, 5 << 20} {
			text := strings.Repeat("0123456789abcdef", n/16+1)[:n]
			c.send(message(text))
			c.want(wsframe.Text, text)
			c.send(frame(wsframe.Binary, true, text))
			c.want(wsframe.Binary, text)
		}
		var batch []byte
		for range 1000 {
			batch = append(batch, message("hello")...)
		}
		c.send(batch)
		for range 1000 {
			c.want(wsframe.Text, "hello")
		}
		c.send(closing(StatusNormal, "bye"))
		c.wantClose(StatusNormal)
		e.wantClosed(t, &CloseError{Code: StatusNormal, Reason: "bye"})
		if st := o.Stats(); st.Accepted != 1 || st.Open != 0 {
			t.Errorf("stats %+v", st)
		}
	})
}
