package galetest

import (
	"errors"
	"testing"

	"github.com/galehttp/gale"
)

// A recorded context can be detached, and then knows that the request was answered.
func TestRecordDetached(t *testing.T) {
	got := make(chan error, 1)
	ctx := NewContext("POST", "/alice", []byte("body"))
	r := Record(func(ctx *gale.RequestCtx) {
		ctx.SetBodyString("hello")
		go func(ctx *gale.RequestCtx) {
			<-ctx.Done()
			if string(ctx.PostBody()) != "body" || string(ctx.Path()) != "/alice" {
				t.Errorf("the request is %s", &ctx.Request)
			}
			got <- ctx.Flush()
		}(ctx.Detach())
	}, ctx)
	if s := string(r.Response.Body()); s != "hello" || r.Err != nil {
		t.Errorf("%q, %v", s, r.Err)
	}
	if err := <-got; !errors.Is(err, gale.ErrRequestDone) {
		t.Errorf("Flush: %v", err)
	}
}
