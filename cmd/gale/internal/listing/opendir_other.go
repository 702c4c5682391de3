//go:build !unix

package listing

import "os"

// openFlags are further flags for opening files.
const openFlags = 0

// openDir opens the folder of root to read its names and types.
func openDir(root *os.Root, _ string) (*os.File, error) { return root.Open(".") }
