//go:build amd64 || arm64

package count

// goroutine returns a number of the calling goroutine that no other one has at the same
// time: the address of its structure in the runtime.
func goroutine() uintptr
