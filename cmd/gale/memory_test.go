package main

import (
	"runtime"
	"testing"
)

// Memory that isn't used any more is given back, once.
func TestTrim(t *testing.T) {
	trim := newTrimmer()
	settle := func() bool { // other goroutines of the test may collect in between
		for range 100 {
			if trim.trim() {
				return true
			}
		}
		return false
	}
	settle()
	used := make([]byte, 32<<20)
	before, _ := trim.look()
	runtime.KeepAlive(used)
	if !settle() {
		t.Fatal("a heap that has grown isn't trimmed")
	}
	if after, _ := trim.look(); after > before-24<<20 {
		t.Errorf("the heap has %d bytes, of %d before", after, before)
	}
	if trim.trim() {
		t.Error("trimmed again without a reason")
	}
}
