// Package stringprometheus: a Prometheus label keeps an unsafe string of the method.
//
// category: string
// level: 2
// after: strelov1/freehire#2151 soulteary/webhook#169
// run: bytes method
package stringprometheus

import (
	"unsafe"

	"github.com/galehttp/gale"
	"github.com/prometheus/client_golang/prometheus"
)

var requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"method"})

func toString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func Handler(ctx *gale.RequestCtx) {
	method := toString(ctx.Method())       // BAD:1
	requests.WithLabelValues(method).Inc() // BAD:1
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
