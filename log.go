package gale

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
)

// Logger writes log lines. Printf must be safe for concurrent use.
type Logger interface {
	// Printf writes a line, formatted as by log.Printf.
	Printf(format string, args ...any)
}

// defaultLogger writes to standard error.
var defaultLogger Logger = log.New(os.Stderr, "", log.LstdFlags)

// isStandardError reports whether l is known to write to standard error.
func isStandardError(l Logger) bool {
	std, ok := l.(*log.Logger)
	return ok && std != nil && std.Writer() == os.Stderr
}

// calmLogger recovers from a panic of its Logger. The library often logs where a panic
// would end the process or leave locks held.
type calmLogger struct{ l Logger }

func (c calmLogger) Printf(format string, args ...any) {
	defer recovered("in a Logger")
	c.l.Printf(format, args...)
}

// recovered is deferred where user functions run and no server can log a panic, such as
// in goroutines and timers of the library, where a panic would end the process. It
// recovers and logs the panic to standard error. where says what was running.
func recovered(where string) {
	if r := recover(); r != nil {
		logRecovered(where, r)
	}
}

func logRecovered(where string, r any) {
	defaultLogger.Printf("gale: panic %s: %v\n%s", where, r, stack())
}

// closeCalmly closes c, a connection or a file of the user, and recovers from a panic of
// Close, because the code after it must run.
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
