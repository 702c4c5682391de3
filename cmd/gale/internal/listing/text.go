package listing

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/static"
)

// Names of files may hold any byte except zero and a slash. They are shown as follows:
//
//   - A control character is shown by its symbol, such as U+240A for a line feed.
//   - Characters that change the direction of the text after them, which could make
//     "gpj.exe" look like "exe.jpg", and characters that can't be seen are shown by their
//     number, such as "<U+202E>".
//   - A byte that isn't UTF-8 is shown as U+FFFD.
//   - Each name is in an element of its own that isolates its direction (<bdi>).
//
// Links hold the bytes themselves, escaped.

// shownName returns the text that is shown for name.
func shownName(name string) string {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < ' ' || c >= 0x7f {
			return replaceHidden(name)
		}
	}
	return name
}

func replaceHidden(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r < ' ':
			b.WriteRune('\u2400' + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case isHidden(r):
			b.WriteString("<U+" + strings.ToUpper(strconv.FormatInt(int64(r), 16)) + ">")
		default:
			b.WriteRune(r) // U+FFFD for a byte that isn't UTF-8
		}
	}
	return b.String()
}

// isHidden reports whether r has no shape of its own, or changes the text around it. The
// joiners U+200C and U+200D and the marks U+200E and U+200F are parts of words and emoji.
func isHidden(r rune) bool {
	switch {
	case 0x80 <= r && r <= 0x9f, // controls
		r == 0x200b, r == 0x2060, r == 0xfeff, // no width
		0x2028 <= r && r <= 0x202e, // separators of lines and paragraphs, embedding and override
		0x2066 <= r && r <= 0x2069: // isolates
		return true
	}
	return false
}

// appendHTML appends text for an element or a quoted attribute.
func appendHTML(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '&':
			dst = append(dst, "&amp;"...)
		case '"':
			dst = append(dst, "&#34;"...)
		case '\'':
			dst = append(dst, "&#39;"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// appendHref appends a link to name in the folder of the page. With "./" a name such as
// "a:b" isn't read as a scheme.
func appendHref(dst []byte, name string, dir bool) []byte {
	dst = static.AppendEscapedPath(append(dst, "./"...), []byte(name))
	if dir {
		dst = append(dst, '/')
	}
	return dst
}

// appendSize appends a size of n bytes in a readable form: "512 B", "1.5 kB", "12 MB".
func appendSize(dst []byte, n int64) []byte {
	if n < 1000 {
		return append(strconv.AppendInt(dst, n, 10), " B"...)
	}
	units := "kMGTPE"
	v := float64(n) / 1000
	for v >= 999.5 && len(units) > 1 {
		v /= 1000
		units = units[1:]
	}
	precision := 0
	if v < 9.95 {
		precision = 1
	}
	dst = strconv.AppendFloat(dst, v, 'f', precision, 64)
	return append(dst, ' ', units[0], 'B')
}

// appendNumber appends n with commas between groups of three digits.
func appendNumber(dst []byte, n int) []byte {
	digits := strconv.Itoa(n)
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, digits[i])
	}
	return dst
}

// appendCount appends n and a noun: "1 file", "2 files".
func appendCount(dst []byte, n int, noun string) []byte {
	dst = append(append(appendNumber(dst, n), ' '), noun...)
	if n != 1 {
		dst = append(dst, 's')
	}
	return dst
}

// appendJSONString appends s as a JSON string. Bytes that aren't UTF-8 become U+FFFD.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r < ' ', r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// kindOf returns the name of the icon for a file, by the extension of its name.
func kindOf(name string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || len(name)-dot > 9 {
		return "file"
	}
	switch strings.ToLower(name[dot+1:]) {
	case "jpg", "jpeg", "png", "gif", "webp", "avif", "svg", "bmp", "ico", "tif", "tiff", "heic", "jxl":
		return "image"
	case "mp4", "m4v", "webm", "ogv", "mov", "mkv", "avi", "mpg", "mpeg":
		return "video"
	case "mp3", "m4a", "aac", "ogg", "oga", "opus", "wav", "flac", "weba", "mid", "midi":
		return "audio"
	case "zip", "gz", "tgz", "bz2", "xz", "zst", "br", "tar", "7z", "rar", "jar", "deb", "rpm", "dmg", "iso":
		return "archive"
	case "txt", "md", "pdf", "html", "htm", "css", "js", "mjs", "ts", "json", "xml", "yaml", "yml", "toml", "csv", "tsv", "log",
		"go", "c", "h", "cc", "cpp", "py", "rs", "java", "rb", "sh", "sql", "doc", "docx", "odt", "rtf", "epub", "tex", "ini", "conf":
		return "text"
	}
	return "file"
}
