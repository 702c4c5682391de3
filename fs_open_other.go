//go:build !unix

package gale

// openFlags are those of unix systems.
const openFlags = 0

// isTooManyFiles tells if the process or the system has run out of descriptors.
func isTooManyFiles(error) bool { return false }
