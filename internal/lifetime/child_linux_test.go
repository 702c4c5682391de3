package lifetime

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// childEnv has the name of the function that a child process runs instead of tests.
const childEnv = "LIFETIME_TEST_CHILD"

// children are the functions by name. Files with tests of crashes and limits add theirs.
var children = map[string]func(){}

func TestMain(m *testing.M) {
	name := os.Getenv(childEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	children[name]()
	os.Exit(0)
}

// child returns a command that runs one of children.
func child(t *testing.T, name string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	return cmd
}

// runChild runs one of children and returns all that it prints. It returns when the child
// and all processes that have its output have ended.
func runChild(t *testing.T, name string) (out string, err error) {
	var b bytes.Buffer
	cmd := child(t, name)
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	return b.String(), err
}

// check ends a child process if something is wrong.
func check(ok bool, format string, args ...any) {
	if !ok {
		fmt.Printf("FAILED: "+format+"\n", args...)
		os.Exit(3)
	}
}

// monitorPid returns the process that explains crashes of pid, 0 if there is none.
func monitorPid(pid int) int {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range all {
		b, _ := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(b), ") ")
		fields := strings.Fields(rest)
		line, _ := os.ReadFile(filepath.Dir(stat) + "/cmdline")
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) && bytes.Contains(line, []byte("\x00lifetime-monitor\x00")) {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			return n
		}
	}
	return 0
}

// procField returns a number of a file such as /proc/self/status, in its unit.
func procField(file, field string) int64 {
	b, err := os.ReadFile(file)
	check(err == nil, "%v", err)
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	check(false, "%s has no %s", file, field)
	return 0
}
