package gale

import (
	"net"
	"testing"
)

func TestHostClientDo(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("hello " + string(ctx.Path()) + string(ctx.PostBody())) }}
	go func() { _ = s.Serve(ln) }()
	defer s.Shutdown()
	c := &HostClient{Addr: ln.Addr().String()}
	req, resp := AcquireRequest(), AcquireResponse()
	for range 3 {
		req.SetRequestURI("http://" + c.Addr + "/x")
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		if string(resp.Body()) != "hello /x" {
			t.Fatalf("%q", resp.Body())
		}
	}
	if st := c.PoolStats(); st.Dials != 1 || st.Idle != 1 || st.Open != 1 {
		t.Fatalf("%+v", st)
	}
}
