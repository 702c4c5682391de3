// Package bindjson: BindJSON fills a struct that is kept.
//
// category: encode
// level: 1
// run: ok
package bindjson

import (
	"github.com/galehttp/gale"
)

type order struct{ User, Data string }

var orders []order

func Handler(ctx *gale.RequestCtx) {
	var o order
	if err := ctx.BindJSON(&o); err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	orders = append(orders, o)
}

// Show prints the first.
func Show() string { return orders[0].User + " " + orders[0].Data }
