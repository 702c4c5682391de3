//go:build !linux

package gale

import "net"

func smallBuffers(net.Listener) {}
