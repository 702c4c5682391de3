//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd && !windows

package sockopt

import "errors"

// ReusePort is not supported here.
func ReusePort(uintptr) error { return errors.ErrUnsupported }

// DualStack is not supported here.
func DualStack(uintptr) error { return errors.ErrUnsupported }

// DeferAccept is not supported here.
func DeferAccept(uintptr) error { return errors.ErrUnsupported }

// FastOpen is not supported here.
func FastOpen(uintptr) error { return errors.ErrUnsupported }

// Backlog is not supported here.
func Backlog(uintptr, int) error { return errors.ErrUnsupported }
