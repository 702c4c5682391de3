// Package clientjson: a struct that is returned has bytes of a response that was released.
//
// category: client
// level: 2
// run: bytes
package clientjson

import (
	"encoding/json"
	"fmt"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/upstream"
	"github.com/galehttp/gale"
)

type envelope struct {
	Status  int             `json:"status"`
	Payload json.RawMessage `json:"payload"`
}

func fetch(path string) (e envelope, err error) {
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.SetRequestURI(upstream.URL + path)
	if err = upstream.Client.Do(req, resp); err != nil {
		return e, err
	}
	e.Status = resp.StatusCode()
	e.Payload = resp.Body() // BAD:1
	return e, nil           // BAD:1
}

func Handler(ctx *gale.RequestCtx) {
	e, err := fetch(string(ctx.Path())) // BAD:1
	if err == nil {
		audit.Log(fmt.Sprint(e.Status) + " " + string(e.Payload))
	}
}
