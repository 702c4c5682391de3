//go:build !linux || !(amd64 || arm64)

package static

import "os"

// statID returns the fileID of what is at path, which ends in a zero byte. Links are
// followed.
func statID(path string) fileID {
	info, err := os.Stat(path[:len(path)-1])
	if err != nil {
		return fileID{}
	}
	return idOf(info)
}
