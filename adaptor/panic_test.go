package adaptor

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// A handler that panics after TimeoutError is answered for: the response was made, and the panic is
// logged, as by a gale.Server. An abort breaks the response off all the same.
func TestPanicAfterTimeoutError(t *testing.T) {
	for _, row := range []struct {
		name   string
		value  any
		status int // 0 if there is no response
		logged string
	}{
		{"panic", "of the test", gale.StatusRequestTimeout, "panic in a handler that called TimeoutError: of the test"},
		{"abort", gale.ErrAbortHandler, 0, ""},
		{"abort of net/http", http.ErrAbortHandler, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var text bytes.Buffer
			s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
				ctx.TimeoutError("late")
				panic(row.value)
			}))
			s.Config.ErrorLog = log.New(&text, "", 0)
			s.Start()
			resp, err := s.Client().Get(s.URL)
			status, body := 0, []byte(nil)
			if err == nil {
				status = resp.StatusCode
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			s.Close() // no handler writes to the log any more
			if status != row.status || status != 0 && (err != nil || string(body) != "late") {
				t.Errorf("got %d %q, error %v, want %d", status, body, err, row.status)
			}
			if got := text.String(); !strings.Contains(got, row.logged) || row.logged == "" && got != "" {
				t.Errorf("the log is %q, want %q", got, row.logged)
			}
		})
	}
}
