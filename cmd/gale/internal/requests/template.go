package requests

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
)

// place is where the text of a template goes. It decides how values are written.
type place int

const (
	inPath  place = iota // percent-encoded, except "/"
	inQuery              // percent-encoded
	inField              // as they are; without control characters
	inBody               // as they are
)

// template is text with values from a row of Data.
type template []piece

// piece is literal text, or the value of a column if that is at least 0.
type piece struct {
	literal string
	column  int
	escape  *[256]bool // the bytes that stay as they are; nil: all of them
}

// placeholder finds what looks like a column's name, in texts without Data.
var placeholder = regexp.MustCompile(`\{\{\s*[\pL_][\pL\pN_ .-]*(\|\s*raw\s*)?\}\}`)

// parse makes a template of text. what names the text in errors. Without data the text is
// literal, but something that looks like the name of a column is an error.
func parse(text, what string, at place, data *Data) (template, error) {
	if data == nil {
		if found := placeholder.FindString(text); found != "" {
			return nil, fmt.Errorf("%s has %s: give the CSV file with that column by --data", what, found)
		}
		return literal(text), nil
	}
	var t template
	for {
		before, rest, found := strings.Cut(text, "{{")
		t = t.add(piece{literal: before, column: -1})
		if at == inPath && strings.Contains(before, "?") {
			at = inQuery
		}
		if !found {
			return t, nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, fmt.Errorf("%s has a {{ without its }}: write {{name}}", what)
		}
		p, err := value(name, what, at, data)
		if err != nil {
			return nil, err
		}
		t, text = t.add(p), after
	}
}

// value returns the piece for {{text}}.
func value(text, what string, at place, data *Data) (piece, error) {
	name, option, hasOption := strings.Cut(text, "|")
	name, option = strings.TrimSpace(name), strings.TrimSpace(option)
	column := slices.Index(data.columns, name)
	if column < 0 {
		return piece{}, fmt.Errorf("%s has {{%s}}, but %s has no such column: use one of %s", what, text, data.file, strings.Join(data.columns, ", "))
	}
	data.used = true
	if hasOption && (option != "raw" || at > inQuery) {
		return piece{}, fmt.Errorf("%s has {{%s}}: write {{name}}, or {{name|raw}} in a URL for a value that is encoded already", what, text)
	}
	switch p := (piece{column: column}); {
	case hasOption:
		return p, data.check(column, isTarget, "it can't go into a URL as it is")
	case at == inPath:
		p.escape = &pathBytes
		return p, nil
	case at == inQuery:
		p.escape = &queryBytes
		return p, nil
	case at == inField:
		return p, data.check(column, isFieldValue, "it has a line break or another control character, which a header field can't have")
	default:
		return p, nil
	}
}

// literal returns the template of a text without values.
func literal(text string) template {
	if text == "" {
		return nil
	}
	return template{{literal: text, column: -1}}
}

// add appends a piece. Literal pieces beside each other become one.
func (t template) add(p piece) template {
	if p.column >= 0 {
		return append(t, p)
	}
	if p.literal == "" {
		return t
	}
	if last := len(t) - 1; last >= 0 && t[last].column < 0 {
		t[last].literal += p.literal
		return t
	}
	return append(t, p)
}

// fixed reports whether t is the same for all rows.
func (t template) fixed() bool {
	return !slices.ContainsFunc(t, func(p piece) bool { return p.column >= 0 })
}

// append appends the text for a row, which may be nil if t is fixed.
func (t template) append(dst []byte, row []string) []byte {
	for i := range t {
		switch p := &t[i]; {
		case p.column < 0:
			dst = append(dst, p.literal...)
		case p.escape != nil:
			dst = bytesconv.AppendEscaped(dst, bytesconv.S2B(row[p.column]), p.escape)
		default:
			dst = append(dst, row[p.column]...)
		}
	}
	return dst
}

// queryBytes are the unreserved characters of RFC 3986 section 2.3, pathBytes these and
// "/".
var queryBytes, pathBytes = unreserved(""), unreserved("/")

func unreserved(more string) (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~" + more) {
		set[c] = true
	}
	return set
}

func isTarget(s string) bool {
	return bytesconv.IsTarget([]byte(s)) && bytesconv.IsASCII([]byte(s))
}

func isFieldValue(s string) bool { return bytesconv.IsText([]byte(s)) }
