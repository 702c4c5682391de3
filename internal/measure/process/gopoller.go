package process

import (
	"sync"
	"time"
)

// goPoller reads the figures of a Go program on a goroutine of its own, so that a slow
// answer holds nothing up.
type goPoller struct {
	reader *goReader
	wake   chan struct{} // look at once
	quit   chan struct{}
	done   chan struct{}

	mu          sync.Mutex
	newest      *goFigures
	first, last *goFigures // of the counted time
	state       goState
}

// goState says what the next figures are.
type goState int

const (
	goIdle    goState = iota // before or after the counted time
	goFirst                  // the first of the counted time
	goCounted                // others of the counted time
	goLast                   // the first after it
)

func newGoPoller(r *goReader) *goPoller {
	p := &goPoller{reader: r, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go p.run()
	return p
}

func (p *goPoller) run() {
	defer close(p.done)
	t := time.NewTicker(goEvery)
	defer t.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-p.wake:
		case <-t.C:
		}
		p.mu.Lock()
		asked := p.state
		p.mu.Unlock()
		f, err := p.reader.look()
		if err == nil {
			p.take(f, asked)
		} else if asked == goLast {
			p.take(nil, asked)
		}
	}
}

// take stores figures that were asked for in a state. f is nil if the last ones could not
// be had.
func (p *goPoller) take(f *goFigures, asked goState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f != nil {
		p.newest = f
	}
	switch {
	case asked != p.state: // the counted time began or ended in between
	case asked == goFirst:
		p.first, p.last, p.state = f, f, goCounted
	case asked == goCounted:
		p.last = f
	case asked == goLast:
		if f != nil {
			p.last = f
		}
		p.state = goIdle
	}
}

// set changes the state and asks for figures.
func (p *goPoller) set(s goState) {
	p.mu.Lock()
	p.state = s
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *goPoller) begin() { p.set(goFirst) }
func (p *goPoller) end()   { p.set(goLast) }

// latest returns the newest figures, or nil.
func (p *goPoller) latest() *goFigures {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest
}

// bounds waits for the figures after the counted time, at most as long as two looks take,
// and returns them and the first ones. Either is nil if there are none.
func (p *goPoller) bounds() (first, last *goFigures) {
	for until := time.Now().Add(2 * goTimeout); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		first, last = p.first, p.last
		idle := p.state == goIdle
		p.mu.Unlock()
		if idle {
			break
		}
	}
	return first, last
}

// close ends the goroutine.
func (p *goPoller) close() {
	close(p.quit)
	<-p.done
}
