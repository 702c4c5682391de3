package files

import (
	"bufio"
	"bytes"
	"errors"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A body stream whose Read returns more than it could read doesn't make the body longer: what
// was in the buffer before isn't sent.
func TestBodyStreamReturnsTooMuch(t *testing.T) {
	for _, size := range []int{-1, 1000} {
		var resp gale.Response
		resp.SetBodyStream(peers.CountReader{Count: func(n int) int { return n + 50 }}, size)
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		err := resp.Write(w)
		w.Flush()
		_, body, _ := bytes.Cut(b.Bytes(), []byte("\r\n\r\n"))
		if !errors.Is(err, pool.ErrBadRead) || len(body) != 0 {
			t.Errorf("size %d: %v and a body of %d bytes", size, err, len(body))
		}
	}
}
