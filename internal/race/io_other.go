//go:build !race || !unix

package race

// Publish does nothing.
func Publish() {}
