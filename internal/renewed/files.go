// Package renewed reads files again when they have been renewed, while a program runs:
// certificates with their keys, passwords.
//
// Files are renewed in many ways: by a rename, by a copy over the old file, by a link that is
// turned, one file of a pair after the other. A look may come between two steps. So what
// couldn't be used is read again at the next look, and what is in use is known by size, time
// and identity, because any of the three may stay as it was.
package renewed

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// MaxSize is the size of the largest file that is read, in bytes.
const MaxSize = 1 << 20

// settled is how old the last change of a file must be to be sure that its time tells it
// from the next change. File systems count time in steps of up to 2 seconds.
const settled = 3 * time.Second

// sayAgain is how often a failure that lasts is reported.
const sayAgain = time.Hour

// Files are files that are used together. A version of them that can't be used changes
// nothing. All methods may be called concurrently.
type Files struct {
	names []string
	use   func(contents [][]byte) error

	looked atomic.Int64 // when the files were looked at, in nanoseconds since 1970

	mu       sync.Mutex    // held while the files are looked at
	versions []os.FileInfo // of what is in use; nil if it must be read at the next look
	once     bool          // a file was a pipe, which can't be read again
	failure  string        // what Look reported, until the files can be used
	said     time.Time     // when it did
}

// New returns the files with these names. use is called with what they contain. If it
// returns an error, it must keep what it used before. It is never called concurrently.
func New(use func(contents [][]byte) error, names ...string) *Files {
	return &Files{names: names, use: use}
}

// Read reads the files and uses them. now is the time.
func (f *Files) Read(now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read(now)
}

// News is what a look has to report. Its zero value is nothing.
type News struct {
	// Failed says why the files can't be used. A failure that lasts is reported once an
	// hour, and when its text changes.
	Failed error
	// Over says that the files can be used again.
	Over bool
}

// Look uses the files if they have been renewed since they were used. It does nothing if
// another call looks at the files, or looked at them less than every ago.
func (f *Files) Look(now time.Time, every time.Duration) News {
	age := now.UnixNano() - f.looked.Load() // negative if the clock was set back
	if age >= 0 && age < int64(every) || !f.mu.TryLock() {
		return News{}
	}
	defer f.mu.Unlock()
	return f.news(now, f.look(now))
}

func (f *Files) look(now time.Time) error {
	f.looked.Store(now.UnixNano())
	if f.once {
		return nil
	}
	same, err := f.areSame()
	if same {
		return nil
	}
	f.versions = nil
	if err != nil {
		return err
	}
	return f.read(now)
}

// areSame reports whether the files are those in use. An error says that one of them isn't there
// or isn't a regular file: opening a pipe would block.
func (f *Files) areSame() (bool, error) {
	same := f.versions != nil
	for i, name := range f.names {
		info, err := os.Stat(name)
		if err != nil {
			return false, plainError(err)
		}
		if err := regular(name, info); err != nil {
			return false, err
		}
		same = same && isSame(f.versions[i], info)
	}
	return same, nil
}

func isSame(old, info os.FileInfo) bool {
	return os.SameFile(old, info) && old.Size() == info.Size() && old.ModTime().Equal(info.ModTime())
}

// Regular returns an error if the file isn't a regular one.
func Regular(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return plainError(err)
	}
	return regular(name, info)
}

func regular(name string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s isn't a regular file", name)
	}
	return nil
}

// read reads and uses the files, and remembers their versions. f.mu is held.
func (f *Files) read(now time.Time) error {
	f.looked.Store(now.UnixNano())
	f.versions, f.once = nil, false
	versions := make([]os.FileInfo, len(f.names))
	contents := make([][]byte, len(f.names))
	trusted, once := true, false
	for i, name := range f.names {
		info, b, err := readFile(name)
		if err != nil {
			return plainError(err)
		}
		versions[i], contents[i] = info, b
		trusted = trusted && now.Sub(info.ModTime()) > settled
		once = once || !info.Mode().IsRegular()
	}
	if err := f.use(contents); err != nil {
		return err
	}
	f.once = once
	if trusted {
		f.versions = versions
	}
	return nil
}

// readFile reads a file. info describes what was opened: by the time of another call, the name
// may be that of another file.
func readFile(name string) (info os.FileInfo, b []byte, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, nil, err
	}
	b, err = io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err == nil && len(b) > MaxSize {
		err = fmt.Errorf("%s is larger than %d bytes", name, MaxSize)
	}
	return info, b, err
}

// news decides what of the result of a look is reported.
func (f *Files) news(now time.Time, err error) News {
	if err == nil {
		over := f.failure != ""
		f.failure = ""
		return News{Over: over}
	}
	age := now.Sub(f.said) // negative if the clock was set back
	if err.Error() == f.failure && age >= 0 && age < sayAgain {
		return News{}
	}
	f.failure, f.said = err.Error(), now
	return News{Failed: err}
}

// plainError leaves out the name of the system call.
func plainError(err error) error {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}
