package ws

import (
	"reflect"
	"testing"
)

// A Socket fits into 160 bytes, which is a size of the allocator.
func TestSocketSize(t *testing.T) {
	if n := reflect.TypeFor[Socket]().Size(); n > 160 {
		t.Errorf("a Socket has %d bytes", n)
	}
}
