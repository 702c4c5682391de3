package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/renewed"
)

// Limits of a file of passwords.
const (
	maxUsers    = 10_000
	maxUserName = 255 // as htpasswd allows
	// maxPassword is how many bytes of a password bcrypt looks at. It ignores the rest,
	// so longer passwords are refused.
	maxPassword = 72
	// maxCost is the highest cost of a hash, the binary logarithm of its rounds. One check
	// with it takes about a second.
	maxCost = 14
)

// lookAgain is how often a file of passwords is looked at for changes.
const lookAgain = time.Second

// userTable holds the names and hashes of a file. It doesn't change.
type userTable struct {
	hashes map[string]string
	list   []string     // the hashes, in the order of the file
	seed   maphash.Seed // for find
}

// find returns the hash of user's password. If there is no such user it returns the hash
// of some other user, always the same one for the same name. So names that don't exist
// take as long to check as names that do.
func (t *userTable) find(user string) (hash string, known bool) {
	if hash, known = t.hashes[user]; known {
		return hash, true
	}
	return t.list[maphash.String(t.seed, user)%uint64(len(t.list))], false
}

// passwordFile is a file of names and hashed passwords that is read again when it changes.
// If a new version can't be used, the users of the old one stay.
type passwordFile struct {
	files  *renewed.Files
	logger *slog.Logger
	table  atomic.Pointer[userTable]
}

// openPasswords reads the file for the first time.
func openPasswords(path string, now time.Time, logger *slog.Logger) (*passwordFile, error) {
	f := &passwordFile{logger: logger}
	f.files = renewed.New(func(contents [][]byte) error { return f.use(path, contents[0]) }, path)
	err := renewed.Regular(path) // a FIFO would block, and could be read only once
	if err == nil {
		err = f.files.Read(now)
	}
	if err != nil {
		return nil, &usageError{"can't use -auth-file: " + err.Error()}
	}
	return f, nil
}

// users returns the users of the file. At most once in lookAgain, one of the callers looks
// for a new version of it.
func (f *passwordFile) users(now time.Time) *userTable {
	news := f.files.Look(now, lookAgain)
	if news.Failed != nil {
		f.logger.Warn("the file of passwords can't be used: its last users stay", "error", news.Failed)
	}
	if news.Over {
		f.logger.Info("the file of passwords can be used again")
	}
	return f.table.Load()
}

// use takes the users of a version of the file.
func (f *passwordFile) use(path string, b []byte) error {
	table, err := parsePasswords(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	f.table.Store(table)
	return nil
}

// parsePasswords reads lines of the form name:hash. Empty lines and lines that begin with
// # are ignored. Errors don't contain hashes.
func parsePasswords(b []byte) (*userTable, error) {
	t := &userTable{hashes: map[string]string{}, seed: maphash.MakeSeed()}
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // editors on Windows write it
	n := 0
	for line := range bytes.Lines(b) {
		n++
		s := string(bytes.TrimRight(line, " \t\r\n"))
		if s == "" || s[0] == '#' {
			continue
		}
		name, hash, found := strings.Cut(s, ":")
		switch _, twice := t.hashes[name]; {
		case !found:
			return nil, fmt.Errorf("line %d isn't name:hash; make it with htpasswd -B", n)
		case name == "" || len(name) > maxUserName || !isText(name):
			return nil, fmt.Errorf("line %d: a name has 1 to %d bytes, in UTF-8 and without control characters", n, maxUserName)
		case twice:
			return nil, fmt.Errorf("line %d: there is another line for %q", n, name)
		case len(t.list) == maxUsers:
			return nil, fmt.Errorf("line %d: there are more than %d users", n, maxUsers)
		}
		if err := checkHash(hash); err != nil {
			return nil, fmt.Errorf("line %d, user %q: %w", n, name, err)
		}
		t.hashes[name] = hash
		t.list = append(t.list, hash)
	}
	if len(t.list) == 0 {
		return nil, errors.New("no users: add one with htpasswd -B")
	}
	return t, nil
}

// checkHash reports what is wrong with a hash, which must have the form
//
//	"$2" ( "a" / "b" / "y" ) "$" 2DIGIT "$" 53( ALPHA / DIGIT / "." / "/" )
//
// The versions differ only in errors of old programs that don't matter here.
func checkHash(hash string) error {
	rest, found := strings.CutPrefix(hash, "$2")
	if !found || len(rest) < 2 || strings.IndexByte("aby", rest[0]) < 0 || rest[1] != '$' {
		return errors.New("the password isn't a bcrypt hash; make the line with htpasswd -B")
	}
	cost, text, found := strings.Cut(rest[2:], "$")
	n, err := strconv.ParseUint(cost, 10, 8)
	if !found || len(cost) != 2 || err != nil || len(text) != 53 || strings.ContainsFunc(text, notInHash) {
		return errors.New("the bcrypt hash is damaged; make the line again with htpasswd -B")
	}
	if n < 4 || n > maxCost {
		return fmt.Errorf("the cost of the bcrypt hash is %d, but must be 4 to %d; make the line with htpasswd -B -C 10", n, maxCost)
	}
	return nil
}

func notInHash(r rune) bool {
	return (r < '.' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// randomKey returns a key that no one knows.
func randomKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return key
}
