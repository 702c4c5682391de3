package lifetime

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/internal/race"
)

func init() {
	children["no address space"] = func() {
		limit(unix.RLIMIT_AS, procField("/proc/self/status", "VmSize")<<10+16<<20)
		g := New(Config{Pages: true, MaxBytes: 1 << 30})
		check(!g.HasPages() && g.PagesErr() != nil, "pages beyond RLIMIT_AS")
		usable(g)
	}
	children["no data"] = func() {
		g := New(Config{Pages: true, MaxBytes: 64 << 20})
		check(g.HasPages(), "%v", g.PagesErr())
		// Go itself may need a little. Pages of 32 MiB are too many then.
		limit(unix.RLIMIT_DATA, procField("/proc/self/status", "VmData")<<10+16<<20)
		_, ok := g.space.take(g.Begin(Origin{}), 32<<20)
		check(!ok && g.space.running == 0, "pages beyond RLIMIT_DATA")
		usable(g)
	}
	children["no mappings"] = noMappings
	children["locked"] = locked
	children["memory"] = memoryUnderLoad
}

func limit(which int, n int64) {
	r := syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}
	check(syscall.Setrlimit(which, &r) == nil, "setrlimit")
}

// usable checks that loans work, with or without pages.
func usable(g *Guard) {
	for range 10 {
		l := g.Begin(Origin{})
		b := append(l.Alloc(100), "alice0001"...)
		if l.End(); len(l.memory.runs) == 0 && !g.HasPages() {
			check(!bytes.Contains(b, []byte("alice")), "not overwritten")
		}
	}
}

// noMappings uses up the mappings that a process may have, so that no page can change.
func noMappings() {
	// Go itself must not need a mapping meanwhile: no collection, no profile, no thread.
	debug.SetGCPercent(-1)
	runtime.MemProfileRate = 0
	runtime.GOMAXPROCS(1)
	_ = fmt.Errorf("%w", unix.ENOMEM)
	g := New(Config{Pages: true, MaxBytes: 1 << 20})
	check(g.HasPages(), "%v", g.PagesErr())
	var loans [3]*Loan
	var bufs [3][]byte
	for i := range loans { // neighbors
		loans[i] = g.Begin(Origin{})
		bufs[i] = append(loans[i].Alloc(100), "alice0001"...)
	}
	page := os.Getpagesize()
	rest, err := unix.Mmap(-1, 0, 200_000*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	check(err == nil, "%v", err)
	full := false
	for i := page; i < len(rest)-page && !full; i += 2 * page {
		full = unix.Mprotect(rest[i:i+page], unix.PROT_READ) != nil
	}
	if !full {
		os.Stdout.WriteString("SKIP: this system has mappings without end\n")
		return
	}
	loans[1].End() // would split a mapping
	check(g.Stats().Unpaged == 1, "%+v", g.Stats())
	check(!bytes.Contains(bufs[1], []byte("alice")), "not overwritten")
	l := g.Begin(Origin{})
	b := l.Alloc(100)
	check(g.Stats().Unpaged >= 1, "%+v", g.Stats())
	_ = append(b, "x"...)
	l.End()
	check(unix.Munmap(rest) == nil, "munmap")
	loans[0].End()
	loans[2].End()
	for range 3 * len(g.space.owners) { // also those that weren't cleared
		l := g.Begin(Origin{})
		b := l.Alloc(100)
		b = b[:cap(b)]
		check(len(l.memory.runs) == 1 && !bytes.ContainsFunc(b, func(r rune) bool { return r != 0 }), "not 0")
		copy(b, "alice0001")
		l.End()
	}
}

// locked has memory locked, so that the system doesn't take pages back.
func locked() {
	g := New(Config{Pages: true, MaxBytes: 256 << 10})
	check(g.HasPages(), "%v", g.PagesErr())
	first := g.Begin(Origin{})
	first.Alloc(100)
	if err := unix.Mlock(first.memory.runs[0].bytes); err != nil {
		os.Stdout.WriteString("SKIP: mlock: " + err.Error() + "\n")
		return
	}
	first.End()
	check(slices.Contains(g.space.dirty, true), "locked memory was taken back")
	debug.SetPanicOnFault(true)
	for range 5 * len(g.space.owners) {
		l := g.Begin(Origin{})
		b := l.Alloc(100)
		b = b[:cap(b)]
		check(len(l.memory.runs) == 1 && !bytes.ContainsFunc(b, func(r rune) bool { return r != 0 }), "not 0")
		copy(b, "alice0001")
		l.End()
		check(faultOf(func() { sink = int(b[0]) }) != nil, "readable")
	}
}

// memoryUnderLoad checks that many loans of large bodies take neither more memory nor more
// mappings than the guard may have.
func memoryUnderLoad() {
	const size = 32 << 20
	g := New(Config{Pages: true, MaxBytes: size})
	check(g.HasPages(), "%v", g.PagesErr())
	before := procField("/proc/self/status", "RssAnon")
	for i := range 4000 {
		l := g.Begin(Origin{Kind: "handler"})
		for range 4 {
			b := l.Alloc(16 << 10)
			clear(b[:cap(b)]) // touches all pages
		}
		l.End()
		if i%500 == 0 {
			check(g.Stats().Held <= size, "%+v", g.Stats())
		}
	}
	check(g.Stats().Held == size && g.Stats().Unpaged == 0, "%+v", g.Stats())
	runtime.GC()
	debug.FreeOSMemory()
	if grown := procField("/proc/self/status", "RssAnon") - before; grown > 8<<10 && !race.Enabled { // that has memory of its own
		check(false, "%d KiB more memory", grown)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	check(err == nil && bytes.Count(maps, []byte("\n")) < 500, "%d mappings", bytes.Count(maps, []byte("\n")))
}

// TestPagesRefused proves that a system that refuses address space, memory or mappings only
// costs the guard its pages, and that memory is never shown to the next loan.
func TestPagesRefused(t *testing.T) {
	newPaged(t, Config{MaxBytes: 1 << 20})
	for _, name := range []string{"no address space", "no data", "no mappings", "locked", "memory"} {
		t.Run(name, func(t *testing.T) {
			out, err := runChild(t, name)
			if strings.HasPrefix(out, "SKIP") {
				t.Skip(out)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
