//go:build !linux

package lifetime

import "errors"

var errNoMonitor = errors.New("lifetime: no monitor on this system")

func startMonitor(string) error { return errNoMonitor }

func monitorSpace(*space) error { return errNoMonitor }
