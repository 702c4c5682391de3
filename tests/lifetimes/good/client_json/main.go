// Package clientjson: a struct that is returned has a copy of the body.
//
// category: client
// level: 2
// run: ok
package clientjson

import (
	"encoding/json"
	"fmt"
	"slices"

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
	e.Payload = slices.Clone(resp.Body())
	return e, nil
}

func Handler(ctx *gale.RequestCtx) {
	e, err := fetch(string(ctx.Path()))
	if err == nil {
		audit.Log(fmt.Sprint(e.Status) + " " + string(e.Payload))
	}
}
