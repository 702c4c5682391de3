package adaptor

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("boom") }

// A response whose body could not be read is 500 on net/http as well, and after a
// flush the connection breaks.
func TestBrokenBodyOnNetHTTP(t *testing.T) {
	s := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		if ctx.QueryArgs().Has("flush") {
			ctx.SetBodyString("first")
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
		}
		ctx.SetBodyStream(io.MultiReader(strings.NewReader("half"), brokenReader{}), -1)
		if b := ctx.Response.Body(); len(b) > 0 || ctx.Response.BodyError() == nil {
			t.Errorf("got %q, %v", b, ctx.Response.BodyError())
		}
	}))
	defer s.Close()
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != 500 || string(b) != "Internal Server Error" || err != nil {
		t.Errorf("got %d %q, %v", resp.StatusCode, b, err)
	}
	if resp, err = http.Get(s.URL + "/?flush"); err != nil {
		t.Fatal(err)
	}
	b, err = io.ReadAll(resp.Body)
	resp.Body.Close()
	if string(b) != "first" || err == nil {
		t.Errorf("after a flush: %q, %v", b, err)
	}
}
