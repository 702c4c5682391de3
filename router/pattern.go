package router

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/bytesconv"
)

// kind is what a segment of a pattern matches.
type kind uint8

const (
	literal kind = iota // one segment, byte for byte once decoded
	capture             // one segment that is not empty, between text and suffix
	rest                // all segments that follow, which may be one empty segment
)

// segment is what stands between two slashes of a path, or two dots of a host.
type segment struct {
	kind         kind
	text, suffix string // decoded
	name         string // of what is captured; "" for the rest below a slash at the end
}

// pattern is a parsed pattern.
type pattern struct {
	method   string
	host     []segment
	path     []segment
	hostText string // host with {} for names
	from     int    // where in the text the host or the path begins
	hostLen  int
	captured labels // of host
	mark     mark
	route    *Route
	mount    bool
	forms    []form // of a pattern of Fallback, which has no path
}

// syntaxError says what is wrong with a pattern, and where.
type syntaxError struct {
	offset int
	text   string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("at offset %d: %s", e.offset, e.text) }

func wrong(offset int, format string, args ...any) error {
	return &syntaxError{offset, fmt.Sprintf(format, args...)}
}

// parse reads a pattern:
//
//	[ [ method ] 1*( SP / HTAB ) ] [ host ] path
func parse(text string) (*pattern, error) { return new(memory).parse(text) }

// memory has room for patterns, their paths and their routes, so that many of them take few allocations.
type memory struct {
	routes   []Route
	patterns []pattern
	segments []segment
	made     int             // how many patterns
	many     map[string]bool // of a nameSet

	own struct { // memory for the first one
		patterns [1]pattern
		segments [1]segment
	}
}

// pattern returns a new pattern, with room for a path of n segments.
func (m *memory) pattern(n int) *pattern {
	at := min(m.made, 64) + 1 // a time
	if m.made++; m.made == 1 {
		m.patterns, m.segments = m.own.patterns[:], m.own.segments[:]
	}
	if len(m.patterns) == 0 {
		m.patterns = make([]pattern, at)
	}
	if len(m.segments) < n {
		m.segments = make([]segment, max(n, 3*at))
	}
	p := &m.patterns[0]
	p.path = m.segments[:0:n]
	m.patterns, m.segments = m.patterns[1:], m.segments[n:]
	return p
}

// route returns a new route.
func (m *memory) route() *Route {
	if len(m.routes) == 0 {
		m.routes = make([]Route, min(m.made, 4)) // few, as routes stay
	}
	rt := &m.routes[0]
	m.routes = m.routes[1:]
	return rt
}

// parse is the function parse.
func (m *memory) parse(text string) (*pattern, error) {
	names := nameSet{many: m.many}
	clear(names.many)
	p := m.pattern(strings.Count(text, "/"))
	if err := p.parseHead(text, &names); err != nil {
		return nil, err
	}
	at := p.from + p.hostLen
	if p.method != "" && p.method != gale.MethodConnect && !isClean([]byte(text[at:])) {
		return nil, wrong(at, `a path with an empty segment that isn't the last, or with one that is "." or "..", never matches`)
	}
	if err := p.parsePath(text[at:], at, &names); err != nil {
		return nil, err
	}
	m.many = names.many
	p.mark = markOf(p)
	return p, nil
}

// parseHead reads the method and the host of a pattern, and adds the names in it.
func (p *pattern) parseHead(text string, names *nameSet) error {
	if n := indexBlank(text); n >= 0 {
		p.method = text[:n]
		p.from = n + len(text[n:]) - len(strings.TrimLeft(text[n:], " \t"))
		if p.method != "" && !bytesconv.IsToken([]byte(p.method)) {
			return wrong(0, "invalid method %q", p.method)
		}
	}
	where := text[p.from:]
	if p.hostLen = strings.IndexByte(where, '/'); p.hostLen < 0 {
		return wrong(p.from, "host/path missing /")
	}
	return p.parseHost(where[:p.hostLen], names)
}

// indexBlank returns where the first space or tab is, -1 if there is none.
func indexBlank(s string) int {
	for i := range len(s) {
		if s[i] == ' ' || s[i] == '\t' {
			return i
		}
	}
	return -1
}

// parseHost reads a host. Each of its labels is text or "{name}".
func (p *pattern) parseHost(host string, names *nameSet) error {
	if host == "" {
		return nil
	}
	if n := strings.IndexAny(host, " \t"); n >= 0 {
		return wrong(p.from, "%q after the method is no host: is there a method twice?", host)
	}
	if strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']') {
		return wrong(p.from, "the host %q has a port: hosts are compared without it", host)
	}
	at, captured := p.from, []byte(nil)
	texts := strings.Split(strings.ToLower(host), ".")
	for i, label := range strings.Split(host, ".") {
		s := segment{text: texts[i]}
		if strings.ContainsAny(label, "{}") {
			if label[0] != '{' || strings.IndexByte(label, '}') != len(label)-1 || len(texts) == 1 {
				return wrong(at, "host contains '{' or '}' (missing initial '/'?); a label of a host may be {name}")
			}
			if captured == nil {
				captured = make([]byte, (len(texts)+7)/8)
			}
			captured[i/8] |= 1 << (i % 8)
			s = segment{kind: capture, name: label[1 : len(label)-1]}
			if err := addName(s.name, at, names); err != nil {
				return err
			}
			texts[i] = "{}"
		}
		p.host = append(p.host, s)
		at += len(label) + 1
	}
	p.hostText = strings.ToLower(host)
	if captured != nil {
		p.captured = labels(captured)
		p.hostText = strings.Join(texts, ".")
	}
	return nil
}

// parsePath reads a path, which begins with a slash.
func (p *pattern) parsePath(path string, at int, names *nameSet) error {
	for path != "" {
		path, at = path[1:], at+1
		end, plain := 0, true
		for end < len(path) && path[end] != '/' {
			plain = plain && path[end] != '{' && path[end] != '%'
			end++
		}
		if plain && path != "" {
			p.path = append(p.path, segment{text: path[:end]})
			path, at = path[end:], at+end
			continue
		}
		s, ok := parseWildcard(path[:end])
		if !ok {
			var err error
			if s, err = parseSegment(path[:end], at, end == len(path)); err != nil {
				return err
			}
		}
		if s.name != "" {
			if err := addName(s.name, at, names); err != nil {
				return err
			}
		}
		p.path = append(p.path, s)
		path, at = path[end:], at+end
	}
	return nil
}

// parseWildcard is parseSegment for {name} where the name is in ASCII, as most are. ok is false for others.
func parseWildcard(text string) (s segment, ok bool) {
	end := len(text) - 1
	if end < 2 || text[0] != '{' || text[end] != '}' {
		return s, false
	}
	for i := 1; i < end; i++ {
		if c := text[i] | 0x20; (c < 'a' || c > 'z') && text[i] != '_' && (text[i] < '0' || text[i] > '9') {
			return s, false
		}
	}
	return segment{kind: capture, name: text[1:end]}, true
}

func parseSegment(text string, at int, last bool) (segment, error) {
	open := strings.IndexByte(text, '{')
	switch {
	case text == "" && last:
		return segment{kind: rest}, nil
	case open < 0:
		return segment{text: unescape(text)}, nil
	case text == "{$}":
		if !last {
			return segment{}, wrong(at, "{$} not at end")
		}
		return segment{}, nil
	}
	inner, suffix, ok := strings.Cut(text[open+1:], "}")
	if !ok || strings.ContainsAny(suffix, "{}") || strings.Contains(text[:open], "}") || strings.Contains(inner, "{") {
		return segment{}, wrong(at, "bad wildcard segment (must have one {name}, and end with '}' or a suffix)")
	}
	s := segment{kind: capture, name: inner, text: unescape(text[:open]), suffix: unescape(suffix)}
	if name, many := strings.CutSuffix(inner, "..."); many {
		s.kind, s.name = rest, name
		if !last {
			return s, wrong(at, "{...} wildcard not at end")
		}
	}
	if inner == "$" || s.kind == rest {
		if open > 0 || suffix != "" {
			return s, wrong(at, "bad wildcard segment (%q has no prefix or suffix)", "{"+inner+"}")
		}
	}
	if s.name == "" {
		return s, wrong(at, "empty wildcard")
	}
	return s, nil
}

// addName checks the name of a wildcard: an identifier of Go, and the only one of that name.
func addName(name string, at int, names *nameSet) error {
	for i, c := range name {
		if letter := c | 0x20; letter >= 'a' && letter <= 'z' {
			continue // most are
		}
		if !unicode.IsLetter(c) && c != '_' && (i == 0 || !unicode.IsDigit(c)) || c == utf8.RuneError {
			return wrong(at, "bad wildcard name %q", name)
		}
	}
	if name == "" {
		return wrong(at, "empty wildcard")
	}
	if !names.add(name) {
		return wrong(at, "duplicate wildcard name %q", name)
	}
	return nil
}

// nameSet has the names of a pattern. Most patterns have few, and need no map.
type nameSet struct {
	few  [24]string
	n    int // of few
	many map[string]bool
}

// add adds a name. It returns false if it is there already.
func (s *nameSet) add(name string) bool {
	if slices.Contains(s.few[:s.n], name) || s.many[name] {
		return false
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return true
	}
	if s.many == nil {
		s.many = map[string]bool{}
	}
	s.many[name] = true
	return true
}

func (s *nameSet) clear() {
	s.n = 0
	clear(s.many)
}

// unescape decodes a segment once. One with an escape that is none stays.
func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) || bytesconv.HexValue[s[i+1]]|bytesconv.HexValue[s[i+2]] > 15 {
				return s
			}
			c = bytesconv.HexValue[s[i+1]]<<4 | bytesconv.HexValue[s[i+2]]
			i += 2
		}
		b = append(b, c)
	}
	return string(b)
}

// names returns the names of what p captures, in the order of the path and then of the host. That of a
// slash at the end is "".
func (p *pattern) names() []string { return p.appendNames(nil) }

func (p *pattern) appendNames(names []string) []string {
	for _, s := range p.path {
		if s.kind != literal {
			names = append(names, s.name)
		}
	}
	for _, s := range p.host {
		if s.kind != literal {
			names = append(names, s.name)
		}
	}
	return names
}

// isStatic reports whether the path of p has no wildcards.
func (p *pattern) isStatic() bool {
	return !slices.ContainsFunc(p.path, func(s segment) bool { return s.kind != literal })
}

// appendStatic appends the canonical form of a path without wildcards.
func (p *pattern) appendStatic(dst []byte) []byte {
	for i := range p.path {
		dst = appendCanonical(append(dst, '/'), p.path[i].text)
	}
	return dst
}

// never reports whether p can't match: a segment is "." or "..", or has such a part between
// backslashes or slashes, or is empty and not the last.
func (p *pattern) never() bool {
	for i, s := range p.path {
		switch {
		case s.kind == literal && (hasDots(s.text) || s.text == "" && i+1 < len(p.path)):
			return true
		case s.kind == capture && (s.text != "" || s.suffix != "") && (hasDots(s.text+"x"+s.suffix) || hasDots(s.text+"xx"+s.suffix)):
			return true
		}
	}
	return false
}

// hasDots reports whether a decoded segment is "." or "..", or has such a part between "/" or "\".
func hasDots(s string) bool {
	if strings.IndexByte(s, '.') < 0 {
		return false
	}
	for from := 0; ; {
		n := strings.IndexAny(s[from:], `/\`)
		part := s[from:]
		if n >= 0 {
			part = s[from : from+n]
		}
		if part == "." || part == ".." {
			return true
		}
		if n < 0 {
			return false
		}
		from += n + 1
	}
}

// appendCanonical appends a decoded segment as paths are compared: with "/", "\", "%", "#", "?"
// and NUL encoded.
func appendCanonical[T string | []byte](dst []byte, s T) []byte {
	for i := range len(s) {
		dst = appendByte(dst, s[i])
	}
	return dst
}

func appendByte(dst []byte, c byte) []byte {
	switch c {
	case '/':
		return append(dst, "%2F"...)
	case '\\':
		return append(dst, "%5C"...)
	case '%':
		return append(dst, "%25"...)
	case '#':
		return append(dst, "%23"...)
	case '?':
		return append(dst, "%3F"...)
	case 0:
		return append(dst, "%00"...)
	}
	return append(dst, c)
}
