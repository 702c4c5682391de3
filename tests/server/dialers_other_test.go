//go:build !linux

package server

import "net"

func smallBuffers(net.Listener) {}
