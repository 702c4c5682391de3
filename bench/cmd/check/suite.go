package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// iterations is how often a round runs each benchmark. The number is fixed, because what
// is allocated before the first iteration counts too: divided by the same number it is
// always the same share, and with this one it is less than an allocation.
const iterations = "20000x"

// peers matches the sub-benchmarks of others, at each depth that there is. The order
// matters: the testing package looks no further after an alternative that is longer than
// the name and matches so far. So shorter ones come first, and others before peers.
const peers = "/" + peer + "|//" + peer + "|///" + peer + "|////" + peer + "|/////" + peer

const peer = "^impl=(fasthttp|nethttp|net|reset)$"

// suite names benchmarks of one package.
type suite struct {
	dir         string // of the package
	bench, skip string // as go test has them
}

// build makes the test program of the package. The race detector is off even if GOFLAGS
// has it: with it pools forget objects.
func (s suite) build(program string) error {
	cmd := exec.Command("go", "test", "-c", "-race=false", "-o", program, ".")
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the benchmarks in %s: %w\n%s", s.dir, err, out)
	}
	return nil
}

// run runs each benchmark once and returns the output. One processor and no garbage
// collection make allocations repeatable: pools are not emptied, and each goroutine gets
// back what it returned.
func (s suite) run(program string) ([]byte, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-test.run=^$", "-test.bench="+s.bench, "-test.skip="+s.skip,
		"-test.benchtime="+iterations, "-test.benchmem", "-test.cpu=1", "-test.timeout=10m")
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMEMLIMIT=2GiB")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the benchmarks in %s: %w\n%s%s", s.dir, err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes(), nil
}

// toolchain returns the version of Go. go run and go build compile this program with the
// same one as the benchmarks.
func toolchain() string { return runtime.Version() }
