package upload

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// freeSpace returns how many bytes the user may still write to the volume of the folder at
// path.
func freeSpace(_ *os.File, path string) (free int64, ok bool) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, false
	}
	var avail uint64
	if err := windows.GetDiskFreeSpaceEx(p, &avail, nil, nil); err != nil {
		return 0, false
	}
	return int64(min(avail, math.MaxInt64)), true
}
