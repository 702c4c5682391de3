//go:build !unix

package static

// openFlags are only needed on Unix systems.
const openFlags = 0

// IsTooManyFiles reports whether the process or the system has run out of descriptors.
func IsTooManyFiles(error) bool { return false }
