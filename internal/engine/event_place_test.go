package engine

import (
	"net"
	"testing"
)

// Listeners of one address are spread over all loops. While each loop has one,
// connections stay with the loop that accepted them, unless it has many more.
func TestEventPlace(t *testing.T) {
	e := &Event{}
	for i := range 3 {
		e.loops = append(e.loops, &loop{e: e, number: i, maxRunning: noBound})
	}
	here, there := &net.TCPAddr{Port: 80}, &net.TCPAddr{Port: 81}
	other, at := e.join(there)
	if at.number != 0 || other.everywhere.Load() {
		t.Fatalf("the first listener is at loop %d, everywhere %v", at.number, other.everywhere.Load())
	}
	var listeners []*acceptor
	have := map[int]int{}
	for i := range 6 {
		p, l := e.join(here)
		listeners = append(listeners, &acceptor{l: l, port: p})
		have[l.number]++
		if all := i >= 2; p.everywhere.Load() != all {
			t.Errorf("with %d listeners of three loops everywhere is %v", i+1, !all)
		}
	}
	if len(have) != 3 || have[0] != 2 || have[1] != 2 {
		t.Errorf("listeners by loop: %v, want two for each", have)
	}
	a := listeners[0]
	next := e.loops[(a.l.number+1)%3]
	least := e.loops[(a.l.number+2)%3]
	for _, tt := range []struct {
		mine, next int32
		want       *loop
	}{
		{1, 1, a.l}, {16, 0, a.l}, {17, 0, next}, {216, 100, a.l}, {217, 100, least},
	} {
		a.l.conns.Store(tt.mine)
		next.conns.Store(tt.next)
		least.conns.Store(1)
		if got := e.place(a); got != tt.want {
			t.Errorf("with %d and %d connections one goes to loop %d, want %d", tt.mine, tt.next, got.number, tt.want.number)
		}
	}
	a.l.conns.Store(5)
	next.conns.Store(4)
	for _, k := range []struct {
		running int
		want    *loop
	}{{6, a.l}, {5, least}, {1, least}} {
		a.l.maxRunning = k.running
		if got := e.place(a); got != k.want {
			t.Errorf("from a loop with 5 connections that may run %d, one goes to loop %d, want %d", k.running, got.number, k.want.number)
		}
	}
	a.l.maxRunning = noBound
	if got := e.place(&acceptor{l: a.l, port: other}); got != least {
		t.Errorf("a connection of the other address goes to loop %d, want the one with the fewest", got.number)
	}
	for i, a := range listeners {
		e.part(a.port, a.l)
		if all := i <= 2; a.port.everywhere.Load() != all {
			t.Errorf("with %d listeners left everywhere is %v", 5-i, !all)
		}
	}
	e.part(other, at)
	if len(e.ports) != 0 {
		t.Errorf("%d addresses are left", len(e.ports))
	}
}

// Only sockets of TCP share an address so that the system spreads connections over them.
// A UNIX socket takes the name of another one over, and may have the name of an address
// of TCP.
func TestEventPlaceByNetwork(t *testing.T) {
	tcp := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	unix := &net.UnixAddr{Net: "unix", Name: tcp.String()}
	for _, k := range []struct {
		name       string
		addrs      []net.Addr
		everywhere bool // for the last one
	}{
		{"one of TCP", []net.Addr{tcp}, false},
		{"two of TCP", []net.Addr{tcp, tcp}, true},
		{"two UNIX sockets", []net.Addr{unix, unix}, false},
		{"TCP and UNIX", []net.Addr{unix, tcp}, false},
		{"UNIX and TCP", []net.Addr{tcp, unix}, false},
	} {
		e := &Event{}
		for i := range 2 {
			e.loops = append(e.loops, &loop{e: e, number: i})
		}
		var p *port
		at := map[*loop]bool{}
		for _, addr := range k.addrs {
			var l *loop
			p, l = e.join(addr)
			at[l] = true
		}
		if is := p.everywhere.Load(); is != k.everywhere {
			t.Errorf("%s: everywhere is %v", k.name, is)
		}
		if len(at) != len(k.addrs) {
			t.Errorf("%s: %d loops have listeners, want one each", k.name, len(at))
		}
	}
}
