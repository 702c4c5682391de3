package static

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// One file may have several names. Here are the rules by which a name counts as another one.

// isIgnored reports whether some file systems ignore c when they compare names: HFS+, and
// folders of ext4 and f2fs that ignore case. It can't be seen.
func isIgnored(c rune) bool {
	return c >= utf8.RuneSelf && unicode.In(c, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Visible returns name without the characters that some file systems ignore.
func Visible(name string) string {
	return strings.Map(func(c rune) rune {
		if isIgnored(c) {
			return -1
		}
		return c
	}, name)
}

// IsDotFile reports whether a file of that name counts as hidden: it begins with a dot, perhaps
// after characters that some file systems ignore.
func IsDotFile(name []byte) bool {
	if string(name) == "." {
		return false
	}
	for len(name) > 0 && name[0] != '.' {
		c, n := utf8.DecodeRune(name)
		if !isIgnored(c) {
			return false
		}
		name = name[n:]
	}
	return len(name) > 0
}

// IsShort reports whether name has the form of the short names that Windows makes: up to
// eight characters that end in a tilde and digits, a dot and up to three more.
func IsShort(name string) bool { return isShort([]byte(name)) }

func isShort(name []byte) bool {
	stem, ext, _ := bytes.Cut(name, []byte("."))
	base := bytes.TrimRight(stem, "0123456789")
	return len(base) < len(stem) && bytes.HasSuffix(base, []byte("~")) &&
		utf8.RuneCount(stem) <= 8 && utf8.RuneCount(ext) <= 3
}

// MayOpen reports whether path may name a file below the folder dir: Check allows it, and what
// may be short names are the real names of files. It reads folders for the latter only.
func (r Rules) MayOpen(dir string, path []byte) bool {
	verdict := r.Check(path)
	if verdict != PathShort {
		return verdict == PathOK
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	return areReal(string(AppendName(nil, path)), func(dir string) (fs.File, error) { return root.Open(dir) })
}

// areReal reports whether each segment of name that may be a short name is the name of an entry
// of its folder. Windows ignores case.
func areReal(name string, open func(dir string) (fs.File, error)) bool {
	dir := "."
	for seg := range strings.SplitSeq(name, "/") {
		if IsShort(seg) && !hasEntry(dir, seg, open) {
			return false
		}
		dir = path.Join(dir, seg)
	}
	return true
}

// hasEntry reports whether the folder dir lists a file of that name.
func hasEntry(dir, name string, open func(dir string) (fs.File, error)) bool {
	f, err := open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	list, ok := f.(fs.ReadDirFile)
	for ok {
		entries, err := list.ReadDir(256)
		for _, e := range entries {
			if strings.EqualFold(e.Name(), name) {
				return true
			}
		}
		if ok = err == nil; len(entries) == 0 {
			return false
		}
	}
	return false
}
