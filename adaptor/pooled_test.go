package adaptor

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pool/pooltest"
)

// A context that answered a request of net/http and was given back holds nothing of
// it.
func TestContextForgets(t *testing.T) {
	gale.GuardPools(nil) // which programs with the race detector have
	defer gale.GuardPools(&gale.LifetimeGuard{})
	var used *gale.RequestCtx
	r := httptest.NewRequest("POST", "/canary?canary=1", strings.NewReader("canary"))
	r.Header.Set("Cookie", "canary=1")
	answer(func(ctx *gale.RequestCtx) {
		used = ctx
		ctx.SetUserValue("canary", "canary")
		_ = ctx.QueryArgs()
		_ = ctx.Request.Header.Cookie("canary")
		ctx.SetBody(ctx.PostBody())
		ctx.Response.Header.Set("X-Canary", "canary")
	}, httptest.NewRecorder(), r, true)
	pooltest.TakeBack(&ctxs, used)
	if s := used.Request.String() + used.Response.String() + used.String(); strings.Contains(s, "canary") {
		t.Errorf("a context that was given back shows %q", s)
	}
	if v := used.UserValue("canary"); v != nil || used.Request.Header.Cookie("canary") != nil || used.QueryArgs().Len() > 0 {
		t.Errorf("a context that was given back has a user value, a cookie or an argument")
	}
	if conn := used.Conn(); conn != nowhere && conn != nil {
		t.Errorf("a context that was given back has the connection %v", conn)
	}
}
