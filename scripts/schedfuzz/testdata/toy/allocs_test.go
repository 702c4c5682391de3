//go:build !race

package toy

import "testing"

// The race detector excludes this file, so schedfuzz leaves its tests out.
func TestExcluded(t *testing.T) { t.Error("it is left out") }
