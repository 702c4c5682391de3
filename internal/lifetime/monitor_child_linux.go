package lifetime

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// monitorFile is the descriptor by which the monitor has the shared file.
const monitorFile = 3

// maxCrash is how much of the text of a crash the monitor looks at.
const maxCrash = 256 << 10

// init makes this process the monitor of its parent if the parent started it as one. It
// then never returns: the program's main function doesn't run.
func init() {
	list, ok := os.LookupEnv(monitorEnv)
	if !ok {
		return
	}
	_ = os.Unsetenv(monitorEnv)
	if _, _, ok := readHead(descriptor(monitorFile)); !ok { // an ordinary process, which has the variable by mistake
		return
	}
	f := os.NewFile(monitorFile, "gale-lifetime")
	for fd := range strings.SplitSeq(list, ",") {
		if n, err := strconv.Atoi(fd); err == nil && n > monitorFile {
			_ = unix.Close(n)
		}
	}
	monitorMain(f)
	os.Exit(0)
}

// descriptor reads a file that may belong to other code: unlike an os.File, it never closes
// it.
type descriptor int

func (d descriptor) ReadAt(b []byte, offset int64) (int, error) {
	return unix.Pread(int(d), b, offset)
}

// monitorMain waits for the end of the parent and explains it, if it was a fault on pages.
func monitorMain(f *os.File) {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGTTOU, syscall.SIGPIPE)
	text, at := readCrash(os.Stdin)
	if len(text) == 0 {
		return
	}
	head, library, ok := readHead(f) // again: there are more spaces by now
	if !ok {
		return
	}
	if c, ok := parseCrash(text, library); ok {
		if s, ours := readSlot(f, head, c.addr); ours {
			_, _ = io.WriteString(os.Stderr, explain(c, s, at))
		}
	}
}

// readCrash reads all that the parent prints when it crashes, and returns the beginning and
// when it began.
func readCrash(r io.Reader) (text string, at time.Time) {
	buf := make([]byte, 16<<10)
	n, _ := r.Read(buf)
	if n <= 0 {
		return "", at
	}
	at = time.Now()
	rest, _ := io.ReadAll(io.LimitReader(r, maxCrash))
	_, _ = io.Copy(io.Discard, r) // the parent must not wait
	return string(buf[:n]) + string(rest), at
}

// explain returns the lines about a fault.
func explain(c crash, s slotOf, at time.Time) string {
	var b strings.Builder
	when := s.when
	if when == "" {
		when = "the handler returned"
	}
	fmt.Fprintf(&b, "\ngale: bytes used after %s: address %#x", when, c.addr)
	switch {
	case s.when == "":
		b.WriteString(", of a request that is not known any more")
	case s.ended.IsZero():
		b.WriteString(", of an earlier request: another one uses the page again")
	default:
		if s.from != "" {
			b.WriteString(", lent by " + s.from)
		}
		b.WriteString(", which ended " + round(max(0, at.Sub(s.ended))) + " before")
	}
	b.WriteString("\n")
	if c.caller != "" {
		b.WriteString("gale: they were used by " + c.caller + "\n")
	}
	return b.String()
}
