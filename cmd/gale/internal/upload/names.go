package upload

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/static"
)

// Prefix begins the names of unfinished files.
const Prefix = ".gale-upload-"

// Unfinished reports whether name is one of an unfinished file. File systems may ignore case
// and characters that can't be seen, so the comparison does.
func Unfinished(name string) bool {
	name = static.Visible(name)
	return len(name) >= len(Prefix) && strings.EqualFold(name[:len(Prefix)], Prefix)
}

// maxName is the longest name of a file, in bytes. File systems don't allow more.
const maxName = 255

// Rules say which names files may be stored under.
type Rules struct {
	// Reserved are names to which the server gives a meaning, such as those of index
	// pages.
	Reserved []string
	// Suffixes are ends of names to which the server gives a meaning.
	Suffixes []string
	// Short refuses what may be a short name of Windows, such as "INDEX~1.HTM". There, it
	// names the same file as the long name that is refused.
	Short bool
}

// ShortNames reports whether the files of this system have short names.
const ShortNames = runtime.GOOS == "windows"

// These names have a meaning for the server, or for systems that the folder is opened
// on later: their file managers may run what the files name.
var alwaysReserved = []string{"index.html", "404.html", "desktop.ini", "autorun.inf"}

// CheckName returns why no file may be stored as name, or nil. A name that it accepts
// names a file directly in its folder on every system.
func (r *Rules) CheckName(name string) error {
	if err := checkText(name); err != nil {
		return err
	}
	seen := static.Visible(name)
	switch {
	case static.IsDotFile([]byte(name)), name == ".":
		return errors.New("a file name can't begin with a dot")
	case strings.HasSuffix(name, "."), strings.HasSuffix(seen, "."):
		return errors.New("a file name can't end with a dot")
	case seen == "" || seen != strings.TrimSpace(seen) || name != strings.TrimSpace(name):
		return errors.New("a file name can't begin or end with a space")
	case r.Short && static.IsShort(name):
		return errors.New("a file name can't have the form of a short name, such as INDEX~1.HTM")
	}
	if v := (static.Rules{Windows: true}).Check([]byte(name)); v != static.PathOK && v != static.PathShort {
		return fmt.Errorf("%q is the name of a device on Windows", name)
	}
	same := func(reserved string) bool { return strings.EqualFold(seen, reserved) }
	if slices.ContainsFunc(alwaysReserved, same) || slices.ContainsFunc(r.Reserved, same) {
		return fmt.Errorf("the name %q has a special meaning", name)
	}
	for _, suffix := range r.Suffixes {
		if len(seen) >= len(suffix) && strings.EqualFold(seen[len(seen)-len(suffix):], suffix) {
			return fmt.Errorf("a file name can't end with %s", suffix)
		}
	}
	return nil
}

// checkText checks the length and the characters of a name.
func checkText(name string) error {
	switch {
	case name == "":
		return errors.New("the file has no name")
	case len(name) > maxName:
		return fmt.Errorf("the file name is longer than %d bytes", maxName)
	case !utf8.ValidString(name):
		return errors.New("the file name isn't valid UTF-8")
	case strings.ContainsAny(name, `/\`):
		return errors.New("a file name can't contain / or \\")
	case strings.ContainsAny(name, `:*?"<>|`):
		return errors.New(`a file name can't contain any of : * ? " < > |`)
	}
	for _, c := range name {
		// Format characters change the order in which text is shown, or can't be seen. Two of
		// them are parts of words and emoji.
		if unicode.In(c, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) && !isJoiner(c) {
			return errors.New("a file name can't contain control characters or characters that can't be seen")
		}
	}
	return nil
}

// CheckFolder returns why files can't be stored in a folder of this name, or nil. What
// programs keep in folders that begin with a dot decides what they run.
func (r *Rules) CheckFolder(name string) error {
	switch {
	case name == "", name == "..", strings.ContainsAny(name, "/\\\x00"), !utf8.ValidString(name):
		return errors.New("the path of the folder is malformed")
	case static.IsDotFile([]byte(name)), name == ".":
		return errors.New("uploads into folders whose names begin with a dot aren't allowed")
	case r.Short && static.IsShort(name):
		return errors.New("write the long name of the folder")
	}
	return nil
}

// isJoiner reports whether c is the zero width joiner or non-joiner.
func isJoiner(c rune) bool { return c == '\u200c' || c == '\u200d' }
