//go:build !linux

package server

import (
	"net"
	"testing"
)

// sendUrgent does nothing: only the event engine, on Linux, needs this test.
func sendUrgent(*testing.T, net.Conn) {}
