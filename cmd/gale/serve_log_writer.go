package main

import (
	"io"
	"sync"
	"time"
)

// maxUnwritten is how many bytes of lines may wait to be written.
const maxUnwritten = 1 << 20

// maxSpare is the size of a buffer that is kept for more lines.
const maxSpare = 64 << 10

// lineWriter writes lines to w on a goroutine of its own. So requests don't wait for a
// slow terminal or a full pipe. Lines that come while another is being written are
// written together, so a system call per line doesn't limit the server. If more than
// maxUnwritten bytes wait, lines are dropped and counted.
type lineWriter struct {
	w    io.Writer
	lost func(lines int) // called when lines were dropped and others can be written again

	mu      sync.Mutex
	lines   []byte // to be written
	spare   []byte // for lines, while those before are being written
	dropped int
	running chan struct{} // closed when the goroutine ends; nil if there is none
}

func newLineWriter(w io.Writer) *lineWriter { return &lineWriter{w: w} }

// Write takes whole lines. It doesn't block and never fails.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines)+len(p) > maxUnwritten {
		l.dropped++
		return len(p), nil
	}
	l.lines = append(l.lines, p...)
	if l.running == nil {
		l.running = make(chan struct{})
		go l.run()
	}
	return len(p), nil
}

// run writes lines until there are none. Errors are ignored, because there is no other
// place to report them: the lines are lost, and the next ones are tried.
func (l *lineWriter) run() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.lines) > 0 {
		lines, dropped := l.lines, l.dropped
		l.lines, l.spare, l.dropped = l.spare[:0], nil, 0
		l.mu.Unlock()
		_, err := l.w.Write(lines)
		if dropped > 0 && err == nil {
			l.lost(dropped)
			dropped = 0
		}
		l.mu.Lock()
		l.dropped += dropped
		if cap(lines) <= maxSpare {
			l.spare = lines
		}
	}
	close(l.running)
	l.running = nil
}

// flush waits until all lines are written, at most for d.
func (l *lineWriter) flush(d time.Duration) {
	l.mu.Lock()
	running := l.running
	l.mu.Unlock()
	if running == nil {
		return
	}
	timeout := time.NewTimer(d)
	defer timeout.Stop()
	select {
	case <-running:
	case <-timeout.C:
	}
}
