//go:build linux || darwin || openbsd

package engine

import (
	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/internal/race"
)

const haveWritev = true

func writev(fd int, a, b []byte) (int, error) {
	race.Publish()
	return unix.Writev(fd, [][]byte{a, b})
}
