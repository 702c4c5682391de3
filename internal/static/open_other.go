//go:build !unix

package static

// openFlags are those of unix systems.
const openFlags = 0

// IsTooManyFiles tells if the process or the system has run out of descriptors.
func IsTooManyFiles(error) bool { return false }
