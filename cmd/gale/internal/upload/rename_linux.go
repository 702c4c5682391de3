package upload

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a file of root, if nothing has the new name. Both names are single
// segments, and no link is followed. Many file systems without hard links can do this.
func renameNew(root *os.Root, from, to string) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	fd := int(dir.Fd())
	return unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE)
}
