// Package fiberlabel: a Prometheus label keeps a copy of a header.
//
// category: fiber
// level: 1
// run: ok
package fiberlabel

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/valyala/fasthttp"
)

var (
	app  = fiber.New()
	hits = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hits_total"}, []string{"agent"})
)

func init() {
	app.Use(func(c *fiber.Ctx) error {
		hits.WithLabelValues(strings.Clone(c.Get("User-Agent"))).Inc()
		return c.Next()
	})
}

// Handler is the application.
func Handler(ctx *fasthttp.RequestCtx) { app.Handler()(ctx) }

// Show collects the metric.
func Show() string {
	registry := prometheus.NewRegistry()
	registry.MustRegister(hits)
	families, err := registry.Gather()
	if err != nil {
		return err.Error()
	}
	labels := ""
	for _, m := range families[0].Metric {
		labels += m.Label[len(m.Label)-1].GetValue() + " "
	}
	return labels
}
