package shares

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestTake(t *testing.T) {
	var s Shares
	var places []Place
	for _, c := range []struct {
		ip string
		ok bool
	}{
		{"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.1", false}, {"192.0.2.2", true},
		{"2001:db8::1", true}, {"2001:db8:0:42::1", true}, {"2001:db8::2", false}, {"2001:db8:1::1", true}, // a /56 is a client
		{"127.0.0.1", true}, {"127.0.0.1", true}, {"127.0.0.1", true}, {"::1", true}, {"::1", true}, {"::1", true}, // perhaps a proxy
		{"", true}, {"", true}, {"", true},
	} {
		ip, _ := netip.ParseAddr(c.ip)
		place, ok := s.Take(ip, 2)
		if ok != c.ok {
			t.Errorf("%s: %t", c.ip, ok)
		}
		if ok {
			places = append(places, place)
		}
	}
	for _, p := range places {
		p.GiveBack()
	}
	if s.Len() != 0 {
		t.Errorf("left: %v", s.held)
	}
}

// Those that wait get places in their order. Only as many wait as may have places, and nothing is
// left of those that gave up.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Shares
		ip, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
		first, _ := s.Take(ip, 2)
		second, ok := s.Wait(ip, 2, time.Second, nil)
		if !ok {
			t.Fatal("a free place wasn't given")
		}
		type result struct {
			n     int
			place Place
			ok    bool
		}
		got := make(chan result, 10)
		done := make(chan struct{})
		for i := range 2 {
			go func() {
				p, ok := s.Wait(ip, 2, time.Minute, done)
				got <- result{i, p, ok}
			}()
			synctest.Wait()
		}
		if _, ok := s.Wait(ip, 2, time.Hour, nil); ok {
			t.Error("a third one waited")
		}
		if p, ok := s.Wait(other, 2, 0, nil); !ok {
			t.Error("another client got no place")
		} else {
			p.GiveBack()
		}
		first.GiveBack()
		r := <-got
		if r.n != 0 || !r.ok {
			t.Errorf("the place went to %+v", r)
		}
		close(done)
		if r := <-got; r.ok {
			t.Errorf("%+v got a place after its end", r)
		}
		start := time.Now()
		if _, ok := s.Wait(ip, 2, time.Second, nil); ok || time.Since(start) != time.Second {
			t.Errorf("got a place: %t, after %v", ok, time.Since(start))
		}
		second.GiveBack()
		r.place.GiveBack()
		if s.Len() != 0 {
			t.Errorf("left: %v, %v", s.held, s.waiting)
		}
	})
}
