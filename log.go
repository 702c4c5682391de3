package gale

import (
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
)

// Logger writes a line of log. Its method must be safe for concurrent use.
type Logger interface {
	// Printf has the meaning of log.Printf.
	Printf(format string, args ...any)
}

// defaultLogger writes to the standard error stream.
var defaultLogger Logger = log.New(os.Stderr, "", log.LstdFlags)

// calmLogger survives a Logger that panics: what it is told often stands in the
// way of the end of the process, or of locks that are held.
type calmLogger struct{ l Logger }

func (c calmLogger) Printf(format string, args ...any) {
	defer recovered("in a Logger")
	c.l.Printf(format, args...)
}

// recovered, deferred, survives a panic of a user's function where there is no
// server to log it, and logs it on the standard error stream: in goroutines and
// timers of the library it would end the process. where says what ran.
func recovered(where string) {
	if r := recover(); r != nil {
		logRecovered(where, r)
	}
}

func logRecovered(where string, r any) {
	defaultLogger.Printf("gale: panic %s: %v\n%s", where, r, stack())
}

// closeCalmly closes c, a connection or a file of the user's, and survives a panic
// of it: what comes after it, such as giving up its place, must happen.
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
