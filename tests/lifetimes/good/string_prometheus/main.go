// Package stringprometheus: a Prometheus label gets a constant of the program, or a real string.
//
// category: string
// level: 2
// after: gofiber/contrib#1834
// run: ok method
package stringprometheus

import (
	"github.com/galehttp/gale"
	"github.com/prometheus/client_golang/prometheus"
)

var requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"method", "user"})

func methodLabel(method []byte) string {
	switch string(method) {
	case gale.MethodGet:
		return gale.MethodGet
	case gale.MethodPost:
		return gale.MethodPost
	}
	return "other"
}

func Handler(ctx *gale.RequestCtx) {
	requests.WithLabelValues(methodLabel(ctx.Method()), string(ctx.QueryArgs().Peek("user"))).Inc()
}

// Show collects the metric.
func Show() string {
	registry := prometheus.NewRegistry()
	registry.MustRegister(requests)
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
