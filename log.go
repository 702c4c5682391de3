package gale

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
)

// Logger writes lines to a log. Its method must be safe for concurrent use.
type Logger interface {
	// Printf works like log.Printf.
	Printf(format string, args ...any)
}

// defaultLogger writes to the standard error stream.
var defaultLogger Logger = log.New(os.Stderr, "", log.LstdFlags)

// calmLogger recovers panics of a Logger. The library often logs while it holds
// locks, or in goroutines where a panic would end the process.
type calmLogger struct{ l Logger }

func (c calmLogger) Printf(format string, args ...any) {
	defer recovered("in a Logger")
	c.l.Printf(format, args...)
}

// recovered must be deferred. It recovers a panic of a user's function where there
// is no server to log it, and logs it to the standard error stream. In goroutines
// and timers of the library the panic would end the process. where says which
// function ran.
func recovered(where string) {
	if r := recover(); r != nil {
		logRecovered(where, r)
	}
}

func logRecovered(where string, r any) {
	defaultLogger.Printf("gale: panic %s: %v\n%s", where, r, stack())
}

// closeCalmly closes c, a connection or a file that a user's code made, and
// recovers a panic of its Close method, because the code after it, such as giving
// back a place, must run.
func closeCalmly(c io.Closer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			logRecovered(fmt.Sprintf("closing a %T", c), r)
			err = fmt.Errorf("gale: closing a %T panicked: %v", c, r)
		}
	}()
	return c.Close()
}

func stack() []byte { return debug.Stack() }
