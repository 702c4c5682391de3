package head

import (
	"fmt"
	"strings"
	"testing"

	"github.com/galehttp/gale/internal/msg"
)

// nameSteps tells how long the chains of a list's hash table are: what looking all
// names up costs.
func nameSteps(l *NameList) (steps int) {
	mask := uint32(len(l.slots) - 1)
	for i := range l.names {
		for k := l.names[i].hash & mask; ; k = (k + 1) & mask {
			if steps++; l.slots[k] == uint32(i+1) {
				break
			}
		}
	}
	return steps
}

// TestNameList compares a NameList with a map, and counts what it costs.
func TestNameList(t *testing.T) {
	var l NameList
	known := map[string]bool{}
	for range 2 {
		for i := range 5000 {
			name := fmt.Sprintf("X-%c%d", 'a'+i%26, i/3*3)
			if i%100 == 0 {
				name += strings.Repeat("-long", i/50)
			}
			if l.has([]byte(strings.ToUpper(name))) != known[strings.ToLower(name)] {
				t.Fatalf("%q: %v", name, known[strings.ToLower(name)])
			}
			l.add([]byte(name), msg.Normalized)
			known[strings.ToLower(name)] = true
		}
		if l.Len() != len(known) {
			t.Fatalf("%d names, want %d", l.Len(), len(known))
		}
		if steps := nameSteps(&l); steps > 4*l.Len() {
			t.Errorf("%d steps for %d names", steps, l.Len())
		}
		l.reset()
		clear(known)
	}
}
