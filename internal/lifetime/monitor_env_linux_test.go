package lifetime

import (
	"os"
	"runtime"
	"strings"
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

func init() {
	children["env files"] = func() {
		for range 20 {
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		w := os.NewFile(monitorFile, "pipe")
		_, err := w.WriteString("a")
		check(err == nil, "descriptor 3 is gone: %v", err)
	}
}
