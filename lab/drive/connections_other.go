//go:build !unix

package drive

import "github.com/galehttp/gale/lab/plan"

// Connections is how many connections a load opens.
func Connections(l *plan.Load) int {
	if l.Connections == plan.All {
		return 15000
	}
	return l.Connections
}
