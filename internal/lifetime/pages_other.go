//go:build !linux

package lifetime

import (
	"errors"
	"runtime"
)

func reserve(int) ([]byte, error) {
	return nil, errors.New("lifetime: no pages of their own on " + runtime.GOOS)
}

func unreserve([]byte) {}

func readable([]byte) error { return nil }

func unreadable([]byte) error { return nil }

func discard([]byte) error { return nil }
