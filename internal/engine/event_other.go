//go:build !linux

package engine

import (
	"errors"
	"time"
)

// haveSystem is false: Event has no poller on this system yet.
const haveSystem = false

func newSystem() (system, error) { return nil, errors.ErrUnsupported }

func (a *acceptor) accept(uintptr)              {}
func (a *acceptor) unblock(uintptr)             {}
func (a *acceptor) prepare(time.Duration) error { return errors.ErrUnsupported }
