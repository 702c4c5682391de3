package lifetime

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A program that has the monitor's variable by mistake keeps its descriptors, such as a
// listener of systemd, which is number 3.
func TestMonitorEnvKeepsFiles(t *testing.T) {
	cmd := child(t, "env files")
	cmd.Env = append(cmd.Env, monitorEnv+"=4,5")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
}

// Without its monitor, which was killed, a process still says why it crashed. Memory of
// many guards stays bounded, and so do its descriptors.
func TestMonitorIsGone(t *testing.T) {
	newPaged(t, Config{MaxBytes: 1 << 20})
	out, err := runChild(t, "monitor killed")
	if err == nil || !strings.Contains(out, "fatal error: fault") || !strings.Contains(out, "aReader(") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Guards that are made and dropped leave no descriptors, and a bounded number of mappings.
func TestManyGuards(t *testing.T) {
	newPaged(t, Config{MaxBytes: 1 << 20})
	if out, err := runChild(t, "many guards"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func lines(file string) int {
	b, _ := os.ReadFile(file)
	return bytes.Count(b, []byte("\n"))
}

func openFiles() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

func init() {
	children["monitor killed"] = func() {
		b := lateBytes(1<<20, 100)
		pid := monitorPid(os.Getpid())
		check(pid != 0, "no monitor")
		check(syscall.Kill(pid, syscall.SIGKILL) == nil, "kill")
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, 0, nil)
		check(err == nil, "%v", err)
		go aReader(b)
		never()
	}
	children["many guards"] = func() {
		var files, maps int
		for i := range 600 {
			g := New(Config{Pages: true, Monitor: true, MaxBytes: 1 << 20})
			check(g.HasPages(), "guard %d: %v", i, g.PagesErr())
			l := g.Begin(Origin{Kind: "handler"})
			l.Alloc(100)
			l.End()
			if i%20 == 19 {
				runtime.GC()
				time.Sleep(5 * time.Millisecond) // so that cleanups run
			}
			if i == 99 {
				files, maps = openFiles(), lines("/proc/self/maps")
			}
		}
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && (openFiles() > files+2 || lines("/proc/self/maps") > 2*maps); {
			runtime.GC()
			time.Sleep(5 * time.Millisecond) // between two looks
		}
		check(openFiles() <= files+2, "%d descriptors became %d", files, openFiles())
		check(lines("/proc/self/maps") <= 2*maps, "%d mappings became %d", maps, lines("/proc/self/maps"))
	}
	children["env files"] = func() {
		for range 20 {
			runtime.GC()
			time.Sleep(time.Millisecond) // no cleanup may close the descriptor: nothing shows that all have run
		}
		w := os.NewFile(monitorFile, "pipe")
		_, err := w.WriteString("a")
		check(err == nil, "descriptor 3 is gone: %v", err)
	}
}
