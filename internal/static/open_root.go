package static

import (
	"io/fs"
	"os"
)

// OpenRegularIn opens the file or directory name in root, with the rules of OpenRegular.
// Links are followed while they stay in root.
func OpenRegularIn(root *os.Root, name string) (fs.File, fs.FileInfo, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	return statOpened(f, err)
}
