//go:build unix && !linux && !darwin && !openbsd

package engine

const haveWritev = false

func writev(int, []byte, []byte) (int, error) { return 0, nil }
