package far

import (
	"net"
	"sync"
	"testing"
	"time"
)

// link is a listener that forwards its connections to a server. Each byte has a delay,
// and there are at most rate bytes per second in each direction.
type link struct {
	net.Listener
	to    string
	delay time.Duration // in each direction
	rate  float64       // bytes per second

	// up and down, if they are set, get the bytes that the client and the server have
	// sent: up just before they are delivered, down when they were sent.
	up, down func(p []byte)
}

// startLink forwards the connections of l to the server until the test ends.
func startLink(t *testing.T, l *link) *link {
	t.Helper()
	var err error
	if l.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", l.to)
			if err != nil {
				near.Close()
				continue
			}
			mu.Lock()
			conns = append(conns, near, far)
			mu.Unlock()
			running.Go(func() { l.carry(far, near, nil, l.up) })
			running.Go(func() { l.carry(near, far, l.down, nil) })
		}
	})
	return l
}

// parcel is the result of one read.
type parcel struct {
	b   []byte
	due time.Time // when it arrives
}

// maxOnWay is how many bytes a link accepts before it delivers them. It is several times
// what is on its way at full speed, so that the link itself never blocks a sender.
const (
	maxOnWay   = 64 << 20
	parcelSize = 64 << 10
)

// carry moves bytes from one connection to the other until one of them ends.
func (l *link) carry(to, from net.Conn, sent, arrives func([]byte)) {
	defer to.Close()
	onWay := make(chan parcel, maxOnWay/parcelSize)
	free := make(chan []byte, maxOnWay/parcelSize)
	go func() {
		defer close(onWay)
		var left time.Time // when the last byte has left
		for {
			var b []byte
			select {
			case b = <-free:
			default:
				b = make([]byte, parcelSize)
			}
			n, err := from.Read(b)
			if n > 0 {
				if sent != nil {
					sent(b[:n])
				}
				now := time.Now()
				if left.Before(now) {
					left = now
				}
				left = left.Add(time.Duration(float64(n) / l.rate * 1e9))
				onWay <- parcel{b[:n], left.Add(l.delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range onWay {
		time.Sleep(time.Until(p.due)) // the delay of the link
		if arrives != nil {
			arrives(p.b)
		}
		if _, err := to.Write(p.b); err != nil {
			from.Close()
			for range onWay { // until its Read fails
			}
			return
		}
		select {
		case free <- p.b[:parcelSize]:
		default:
		}
	}
}
