// Package fiberlabel: a Prometheus label keeps a header of the request.
//
// category: fiber
// level: 1
// after: soulteary/webhook#169 gofiber/contrib#1834
// run: framework
package fiberlabel

import (
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
		hits.WithLabelValues(c.Get("User-Agent")).Inc() // BAD
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
