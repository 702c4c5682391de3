package scale

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// syscalls returns the system calls of the server for each request, by name. It runs the
// server under strace, which slows it down: so a poll finds less, or more, than otherwise.
// What the start, the connections and the end cost falls out, as the difference of a run
// with more requests and one with fewer.
func syscalls(program, engine string, loops int, path, dir string, args []string) (map[string]float64, error) {
	if _, err := exec.LookPath("strace"); err != nil {
		return nil, fmt.Errorf("system calls are counted with strace: install it: %w", err)
	}
	sums := map[string]float64{}
	for i, n := range []int{warmUp, warmUp + requests} {
		calls, err := trace(program, engine, loops, path, filepath.Join(dir, "strace"), n, args)
		if err != nil {
			return nil, err
		}
		for name, calls := range calls {
			sums[name] += float64(2*i-1) * float64(calls) / float64(requests*connsPerLoop*loops)
		}
	}
	return sums, nil
}

// trace counts the system calls of a run with n requests on each connection.
func trace(program, engine string, loops int, path, to string, n int, args []string) (calls map[string]int, err error) {
	s, err := start("strace", engine, loops, append([]string{"-f", "-qq", "-c", "-U", "calls,name", "-o", to, program}, args...)...)
	if err != nil {
		return nil, err
	}
	conns, err := open(s.addr, path, connsPerLoop*loops)
	if err == nil {
		err = conns.request(n)
	}
	conns.close()
	if err := errors.Join(err, s.stop()); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return nil, err
	}
	calls = map[string]int{}
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Fields(line)
		if len(f) != 2 || f[1] == "total" {
			continue
		}
		if n, err := strconv.Atoi(f[0]); err == nil {
			calls[f[1]] = n
		}
	}
	return calls, nil
}
