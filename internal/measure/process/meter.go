package process

import (
	"runtime/debug"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// Options say what a Meter watches besides the generator and the machine.
type Options struct {
	PID   int    // the server's process with its descendants; 0: none
	GoURL string // an address of expvar or pprof of the server; "": none
}

// Meter measures the generator, which is this process, the server and the machine during a
// run. Its methods may be called by several goroutines.
type Meter struct {
	mu     sync.Mutex
	self   *Process // nil if the system doesn't tell
	server *Process // nil if none is watched
	goes   *goPoller

	memoryBefore       int64
	begin, last, end   look
	memory             int64 // the largest
	threads, processes int
	goroutines         int
	heap               int64
	cores              string
	allowed            float64
}

// look is what was seen at a time.
type look struct {
	at      time.Time
	own     *Usage
	server  *Usage // nil if none is watched
	machine machineTime
	gc      debug.GCStats
}

// NewMeter begins to watch. Call it before the first connection, because the server's
// memory at that time is in the document. The error says what can't be watched, for users.
// Close ends the watch.
func NewMeter(o Options) (*Meter, error) {
	m := &Meter{}
	m.self, _ = openSelf()
	if o.PID != 0 {
		p, err := Open(o.PID)
		if err != nil {
			return nil, err
		}
		m.server = p
		m.memoryBefore = p.Usage().Memory
		m.cores, m.allowed = p.Cores()
	}
	if o.GoURL != "" {
		r, err := newGoReader(o.GoURL)
		if err != nil {
			return nil, err
		}
		m.goes = newGoPoller(r)
	}
	m.begin = m.look()
	m.last, m.end = m.begin, m.begin
	return m, nil
}

// Close ends the watch.
func (m *Meter) Close() {
	if m.goes != nil {
		m.goes.close()
	}
}

// Begin notes that the counted time begins.
func (m *Meter) Begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil { // by now it has started its workers
		m.cores, m.allowed = m.server.Cores()
	}
	if m.goes != nil {
		m.goes.begin()
	}
	m.begin = m.look()
	m.last, m.end = m.begin, m.begin
}

// Tick adds what the time since the last call used to in.
func (m *Meter) Tick(in *figures.Interval) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, before := m.look(), m.last
	m.last = now
	wall := now.at.Sub(before.at)
	in.GeneratorCPU = share(now.own.CPU-before.own.CPU, wall)
	in.ServerCPU = -1
	if now.server != nil {
		in.ServerCPU = share(now.server.CPU-before.server.CPU, wall)
		in.ServerMemory = now.server.Memory
	}
	in.Others, _ = now.others(&before)
	if m.goes != nil {
		if g := m.goes.latest(); g != nil {
			in.Goroutines, in.HeapByte = g.goroutines, g.heap
			m.goroutines, m.heap = max(m.goroutines, g.goroutines), max(m.heap, g.heap)
		}
	}
}

// End notes that the counted time ends.
func (m *Meter) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.end = m.look()
	if m.goes != nil {
		m.goes.end()
	}
}

// look looks at everything.
func (m *Meter) look() look {
	l := look{at: time.Now(), machine: timeOfMachine(), own: &Usage{Delay: -1}}
	if m.self != nil {
		l.own = m.self.Usage()
	} else {
		l.own.CPU = ownCPU()
	}
	debug.ReadGCStats(&l.gc)
	if m.server != nil {
		l.server = m.server.Usage()
		m.memory = max(m.memory, l.server.Memory)
		m.threads = max(m.threads, l.server.Threads)
		m.processes = max(m.processes, l.server.Processes)
	}
	return l
}

// others returns the shares of the machine that neither side used and that the hypervisor
// took since before, each -1 if unknown.
func (l *look) others(before *look) (others, stolen float64) {
	total := l.machine.total - before.machine.total
	if !l.machine.known || !before.machine.known || total <= 0 {
		return -1, -1
	}
	used := l.own.CPU - before.own.CPU
	if l.server != nil {
		used += l.server.CPU - before.server.CPU
	}
	rest := l.machine.programs - before.machine.programs - used.Seconds()
	return min(max(rest/total, 0), 1), min(max((l.machine.stolen-before.machine.stolen)/total, 0), 1)
}

// Fill puts what was measured between Begin and End into run. The number of responses must
// be there. What the generator's loops know of themselves is not changed.
func (m *Meter) Fill(run *figures.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	responses := run.Requests.Good + run.Requests.Unexpected
	run.Machine = Machine()
	g := &run.Generator
	cpu := m.end.own.CPU - m.begin.own.CPU
	g.CPUSeconds, g.CPUPerRequest = cpu.Seconds(), per(cpu, responses)
	g.DelaySeconds = delay(m.begin.own, m.end.own)
	g.Others, g.Stolen = m.end.others(&m.begin)
	g.GCPauses = m.end.gc.NumGC - m.begin.gc.NumGC
	g.GCPauseMaxNS = 0
	for _, p := range m.end.gc.Pause[:min(g.GCPauses, int64(len(m.end.gc.Pause)))] { // newest first
		g.GCPauseMaxNS = max(g.GCPauseMaxNS, int64(p))
	}
	run.Server = m.fillServer(responses)
}

func (m *Meter) fillServer(responses int64) *figures.Server {
	if m.server == nil && m.goes == nil {
		return nil
	}
	s := &figures.Server{DelaySeconds: -1}
	wall := m.end.at.Sub(m.begin.at)
	if m.server != nil {
		before, after := m.begin.server, m.end.server
		cpu := after.CPU - before.CPU
		s.PID, s.Command = m.server.PID(), m.server.Command()
		s.CPUSeconds, s.CPUPerRequest = cpu.Seconds(), per(cpu, responses)
		s.DelaySeconds = delay(before, after)
		s.Cores, s.Allowed = m.cores, m.allowed
		if m.allowed > 0 {
			s.Busy = share(cpu, wall) / m.allowed
		}
		s.BusiestThread = share(after.busiest(before), wall)
		s.MemoryByte, s.MemoryBefore = m.memory, m.memoryBefore
		s.Threads, s.Processes = m.threads, m.processes
		s.Ended = after.Ended
	}
	if m.goes != nil {
		m.fillGo(s, wall, responses)
	}
	return s
}

// fillGo adds the figures of the server's runtime. The looks at them don't fall on the
// borders of the counted time, so that allocations are those of the time between them, as
// long as it was counted, extended to all of it.
func (m *Meter) fillGo(s *figures.Server, wall time.Duration, responses int64) {
	s.GoURL = m.goes.reader.url
	first, last := m.goes.bounds()
	if last != nil {
		s.Goroutines, s.HeapByte = max(m.goroutines, last.goroutines), max(m.heap, last.heap)
	}
	if first == nil || last == nil || responses == 0 {
		return
	}
	until := last.at
	if until.After(m.end.at) { // nothing was asked for anymore
		until = m.end.at
	}
	between := until.Sub(first.at)
	if between <= 0 || last.mallocs < first.mallocs || last.allocated < first.allocated {
		return
	}
	factor := wall.Seconds() / between.Seconds() / float64(responses)
	s.AllocsPerRequest = float64(last.mallocs-first.mallocs) * factor
	s.AllocatedPerRequest = float64(last.allocated-first.allocated) * factor
	s.Collections = last.cycles - first.cycles
}

// share divides CPU time by time: cores.
func share(cpu, wall time.Duration) float64 {
	if wall <= 0 {
		return 0
	}
	return cpu.Seconds() / wall.Seconds()
}

func per(cpu time.Duration, n int64) int64 {
	if n <= 0 {
		return 0
	}
	return int64(cpu) / n
}

func delay(before, after *Usage) float64 {
	if before.Delay < 0 || after.Delay < 0 {
		return -1
	}
	return (after.Delay - before.Delay).Seconds()
}
