package far

import (
	"net"
	"sync"
	"testing"
	"time"
)

// link is a listener whose connections are carried on to a server, each byte with a delay
// and no more than rate bytes a second each way.
type link struct {
	net.Listener
	to    string
	delay time.Duration // each way
	rate  float64       // bytes a second

	// up and down, if they are set, see what the client and the server have sent just
	// before it is delivered, or, for down, when it was sent.
	up, down func(p []byte)
}

// startLink carries connections on to the server at addr, until the test ends.
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

// parcel is what one read has brought.
type parcel struct {
	b   []byte
	due time.Time // when it arrives
}

// maxOnWay is how many bytes a link takes ahead of what it delivers: several times what is
// on its way at full speed, so that it never is the link that holds a sender up.
const (
	maxOnWay   = 64 << 20
	parcelSize = 64 << 10
)

// carry moves bytes from one connection to the other, until one of them ends.
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
		time.Sleep(time.Until(p.due))
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
