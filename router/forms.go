package router

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pathrule"
)

// form is one path that a pattern of Fallback matches: texts and what wildcards capture, in turn.
type form struct {
	parts []formPart // forms of one pattern share them
	text  string     // after these, canonical
	names []string   // in the order of the path and then of the host
	shape string     // two forms with the same one match the same paths
	route *Route     // what a search finds; it has these names
}

// formPart is text, and what follows it in the same segment.
type formPart struct {
	text string // canonical
	tail *tail
}

// tail is what a segment has from its first wildcard on.
type tail struct {
	text   string   // as it was written, without "?"
	names  []string // of the wildcards
	exprs  []string // their regular expressions, "" for none
	after  []string // the text after each wildcard, decoded
	suffix string   // the canonical text after the only wildcard
	rest   bool     // {name:*}

	expr   *regexp.Regexp // of the value of the only wildcard, or of all that several match; or nil
	groups []int          // of expr, for several wildcards
}

// exprs has the regular expressions of a router by their texts.
type exprs struct {
	groups   map[string]int // how many groups those that were checked have
	compiled map[string]*regexp.Regexp
}

// check returns how many groups the regular expression with a text has, or says why it is none.
func (x *exprs) check(text string) (groups int, err error) {
	groups, ok := x.groups[text]
	if !ok {
		re, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return 0, err
		}
		groups = re.MaxCap()
		x.groups[text] = groups
	}
	return groups, nil
}

// compile returns the regular expression with a text.
func (x *exprs) compile(text string) (*regexp.Regexp, error) {
	re := x.compiled[text]
	if re == nil {
		var err error
		if re, err = regexp.Compile(text); err != nil {
			return nil, err
		}
		x.compiled[text] = re
	}
	return re, nil
}

const (
	maxOptional  = 64 // how many wildcards of a pattern may be optional: each makes one more path
	maxInSegment = 16 // how many wildcards a segment may have: one expression finds all of them
)

// parse reads a pattern of Fallback. It uses the memory of f again.
func (f *formParser) parse(text string) (*pattern, error) {
	p := &pattern{}
	f.used.clear()
	if err := p.parseHead(text, &f.used); err != nil {
		return nil, err
	}
	f.path, f.offset, f.optional = text[p.from+p.hostLen:], p.from+p.hostLen, 0
	f.parts, f.names, f.text, f.shape, f.ends = f.parts[:0], f.names[:0], f.text[:0], f.shape[:0], f.ends[:0]
	n := wildcards(f.path)
	f.tails, f.texts = make([]tail, n), make([]string, 3*n)
	if err := f.parsePath(); err != nil {
		return nil, err
	}
	parts, names, shape, hosts := slices.Clone(f.parts), slices.Clone(f.names), string(f.shape), p.names()
	p.forms = make([]form, len(f.ends))
	for i, e := range f.ends {
		x := form{parts: parts[:e.parts:e.parts], text: e.text, names: names[:e.names:e.names], shape: shape[:e.shape]}
		if len(hosts) > 0 {
			x.names = slices.Concat(x.names, hosts)
		}
		if e.shape == 0 {
			x.text, x.shape = "/", "/"
		}
		p.forms[i] = x
	}
	return p, nil
}

// wildcards returns how many wildcards the path of a pattern of Fallback has.
func wildcards(path string) (n int) {
	depth := 0
	for _, c := range []byte(path) {
		switch c {
		case '{':
			if depth++; depth == 1 {
				n++
			}
		case '}':
			depth--
		}
	}
	return n
}

// formParser reads patterns of Fallback, one after the other.
type formParser struct {
	exprs  exprs
	path   string
	offset int // of path in the pattern
	used   nameSet

	parts    []formPart
	names    []string
	text     []byte // canonical, since the last wildcard
	shape    []byte
	ends     []formEnd
	optional int // how many wildcards are

	tails []tail   // memory for those of the pattern
	texts []string // memory for names, regular expressions and texts of tails
}

// formEnd says how much of what is read so far is in a form.
type formEnd struct {
	parts, names, shape int
	text                string
}

func (f *formParser) parsePath() error {
	for at := 0; at < len(f.path); {
		from := at + 1
		end, err := f.segmentEnd(from)
		if err != nil {
			return err
		}
		if err := f.segment(from, end); err != nil {
			return err
		}
		at = end
	}
	if f.optional == 0 {
		f.end()
	}
	return nil
}

// segmentEnd returns where the segment ends that begins at a byte: slashes in braces are no end.
func (f *formParser) segmentEnd(from int) (int, error) {
	depth, open := 0, 0
	for i := from; i < len(f.path); i++ {
		switch c := f.path[i]; {
		case c == '{':
			if depth++; depth == 1 {
				open = i
			}
		case c == '}' && depth == 0:
			return 0, wrong(f.offset+i, "a '}' without '{'")
		case c == '}':
			depth--
		case c == '/' && depth == 0:
			return i, nil
		}
	}
	if depth > 0 {
		return 0, wrong(f.offset+open, "a '{' without '}'")
	}
	return len(f.path), nil
}

// segment reads f.path[from:end].
func (f *formParser) segment(from, end int) error {
	at, last := f.offset+from, end == len(f.path)
	s := f.path[from:end]
	open := strings.IndexByte(s, '{')
	if open < 0 {
		text := unescape(s)
		switch {
		case text == "" && !last || hasDots(text):
			return wrong(at, `a segment that is empty and not the last, or is "." or "..", never matches`)
		case f.optional > 0 && last:
			return wrong(at, "only a wildcard with '?' may be the last segment after one")
		}
		f.text = appendCanonical(append(f.text, '/'), text)
		f.shape = appendCanonical(append(f.shape, '/'), text)
		return nil
	}
	t, optional, err := f.tail(from+open, end)
	if err != nil {
		return err
	}
	alone := open == 0 && len(t.names) == 1 && t.after[0] == ""
	switch {
	case t.rest && !(alone && last):
		return wrong(at, "{name:*} is the whole last segment")
	case optional && !alone:
		return wrong(at, "a wildcard with '?' is a whole segment")
	case f.optional > 0 && last && !optional:
		return wrong(at, "only a wildcard with '?' may be the last segment after one")
	case optional && f.optional == maxOptional:
		return wrong(at, "more than %d wildcards have '?'", maxOptional)
	}
	if optional {
		t.text = strings.Replace(t.text, "?", "", 1)
		f.optional++
		f.end()
	}
	f.text = appendCanonical(append(f.text, '/'), unescape(s[:open]))
	shape := t.shape()
	if shape == oneValue && open > 0 && !last {
		shape = someValue // as find takes it
	}
	f.shape = append(appendCanonical(append(f.shape, '/'), unescape(s[:open])), shape...)
	f.parts = append(f.parts, formPart{string(f.text), t})
	f.names, f.text = append(f.names, t.names...), f.text[:0]
	if optional {
		f.end()
	}
	return nil
}

// end adds the path so far, unless it was added before.
func (f *formParser) end() {
	if n := len(f.ends); n == 0 || f.ends[n-1].shape != len(f.shape) {
		f.ends = append(f.ends, formEnd{len(f.parts), len(f.names), len(f.shape), string(f.text)})
	}
}

// room returns memory for one text.
func (f *formParser) room() []string {
	room := f.texts[:0:1]
	f.texts = f.texts[1:]
	return room
}

// tail reads f.path[from:end], which begins with a wildcard.
func (f *formParser) tail(from, end int) (t *tail, optional bool, err error) {
	t, f.tails = &f.tails[0], f.tails[1:]
	t.text = f.path[from:end]
	t.names, t.exprs, t.after = f.room(), f.room(), f.room()
	var groups [maxInSegment]int
	for at := from; at < end; {
		close := at + 1
		for depth := 1; ; close++ { // segmentEnd has counted
			if c := f.path[close]; c == '{' {
				depth++
			} else if c == '}' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		name, expr, ok := strings.Cut(f.path[at+1:close], ":")
		name, maybe := strings.CutSuffix(name, "?")
		optional = optional || maybe
		if err := f.name(name, f.offset+at); err != nil {
			return nil, false, err
		}
		next := strings.IndexByte(f.path[close:end], '{')
		switch {
		case next == 1:
			return nil, false, wrong(f.offset+close+1, "there is no text between two wildcards")
		case next < 0:
			next = end - close
		}
		after := unescape(f.path[close+1 : close+next])
		if len(t.names) == maxInSegment {
			return nil, false, wrong(f.offset+at, "more than %d wildcards are in one segment", maxInSegment)
		}
		t.names, t.after = append(t.names, name), append(t.after, after)
		at = close + next
		switch {
		case ok && expr == "*":
			t.rest = true
			expr = ""
		case ok && expr == "":
			return nil, false, wrong(f.offset+close, "the regular expression is empty")
		}
		t.exprs = append(t.exprs, expr)
		if expr == "" {
			continue
		}
		if groups[len(t.exprs)-1], err = f.exprs.check(expr); err != nil {
			return nil, false, wrong(f.offset+close-len(expr), "%v", err)
		}
	}
	if len(t.names) == 1 {
		t.suffix = string(appendCanonical(nil, t.after[0]))
		if t.exprs[0] == "" {
			return t, optional, nil
		}
	}
	if t.expr, err = f.exprs.compile(t.whole(groups[:])); err != nil {
		err = wrong(f.offset+from, "%v", err)
	}
	return t, optional, err
}

// whole returns a regular expression for the value of the only wildcard, or for all that several match. Then it sets
// t.groups, from how many groups those of the wildcards have.
func (t *tail) whole(groups []int) string {
	if len(t.names) == 1 {
		return `\A(?:` + t.exprs[0] + `)\z`
	}
	var b strings.Builder
	b.WriteString(`\A`)
	group := 1
	for i, expr := range t.exprs {
		b.WriteString("(" + cmp.Or(expr, "(?s:.*)") + ")" + regexp.QuoteMeta(t.after[i]))
		t.groups = append(t.groups, group)
		group += 1 + groups[i]
	}
	b.WriteString(`\z`)
	return b.String()
}

// name checks a name, which may have bytes such as "-" here.
func (f *formParser) name(name string, at int) error {
	switch {
	case name == "":
		return wrong(at, "empty wildcard")
	case strings.ContainsAny(name, "{}/?*") || name == "$" || strings.HasSuffix(name, "..."):
		return wrong(at, "bad wildcard name %q: a wildcard is {name}, {name?}, {name:regex}, {name?:regex} or, at the end, {name:*}", name)
	case !f.used.add(name):
		return wrong(at, "duplicate wildcard name %q", name)
	}
	return nil
}

// Marks in shapes: canonical text has no NUL.
const (
	oneValue  = "\x00"  // the rest of a segment, not empty
	restValue = "\x00*" // all that follows
	someValue = "\x00?" // what a regular expression and the text after it say
)

// shape returns what is the same for two tails that match the same text.
func (t *tail) shape() string {
	switch {
	case t.rest:
		return restValue
	case len(t.names) == 1 && t.after[0] == "" && t.exprs[0] == "":
		return oneValue
	}
	var b strings.Builder
	for i, after := range t.after {
		fmt.Fprintf(&b, "%s%q%q", someValue, t.exprs[i], after)
	}
	return b.String()
}

// shapeOf returns the shape of the path of a pattern of Handle.
func shapeOf(path []segment) string {
	var b []byte
	for i := range path {
		s := &path[i]
		b = appendCanonical(append(b, '/'), s.text)
		switch {
		case s.kind == rest:
			b = append(b, restValue...)
		case s.kind == capture && s.suffix == "":
			b = append(b, oneValue...)
		case s.kind == capture:
			b = append(append(append(b, oneValue...), '+'), s.suffix...) // no form has this: there the value may be empty
		}
	}
	return string(b)
}

// match reports whether a canonical segment, from the byte at of its path on, is one of t. It isn't empty. The
// values go to values.
func (t *tail) match(s []byte, values []door.Span, at int) bool {
	if len(t.names) > 1 {
		return t.matchMany(s, values, at)
	}
	if !strings.HasSuffix(bytesconv.B2S(s), t.suffix) {
		return false
	}
	value := s[:len(s)-len(t.suffix)]
	if len(t.suffix) > 0 && len(value) > 0 && inEscape(value) {
		return false
	}
	if t.expr != nil && !t.expr.Match(decoded(value)) {
		return false
	}
	values[0] = door.Span{From: uint32(at), End: uint32(at + len(value))}
	return true
}

// matchMany is match for several wildcards.
func (t *tail) matchMany(s []byte, values []door.Span, at int) bool {
	found := t.expr.FindSubmatchIndex(decoded(s))
	if found == nil {
		return false
	}
	encoded := bytes.IndexByte(s, '%') >= 0
	for i, g := range t.groups {
		from, end := found[2*g], found[2*g+1]
		if encoded {
			from, end = encodedAt(s, from), encodedAt(s, end)
		}
		values[i] = door.Span{From: uint32(at + from), End: uint32(at + end)}
	}
	return true
}

// decoded returns the text of canonical bytes, which are not copied if they are that.
func decoded(s []byte) []byte {
	if bytes.IndexByte(s, '%') < 0 {
		return s
	}
	return decode(nil, s)
}

// encodedAt returns where in s, which is canonical, the byte n of its text is.
func encodedAt(s []byte, n int) (at int) {
	for ; n > 0; n-- {
		if s[at] == '%' {
			at += 2
		}
		at++
	}
	return at
}

// formNode is a place in the tree of the forms of one method: after the bytes of its text. The tree finds what
// github.com/fasthttp/router does: of several ways it goes that with more text first, then those with wildcards in
// the order in which they were registered, and then {name:*}; and comes back if one leads nowhere.
// A way takes a whole segment, so each node is visited once at most.
type formNode struct {
	text  string
	kids  []*formNode
	tails []formTail
	leaf  *Route // of paths that end here, or nil
	rest  *Route // of all other paths, or nil
}

type formTail struct {
	tail *tail
	to   *formNode
}

// add adds forms of a pattern, each of which begins with the parts of the one before.
func (n *formNode) add(forms []form) {
	at := 0
	for i := range forms {
		f := &forms[i]
		for _, p := range f.parts[at:] {
			if n = n.static(p.text); p.tail.rest {
				n.rest = f.route
				return
			}
			n = n.below(p.tail)
		}
		at = len(f.parts)
		n.static(f.text).leaf = f.route
	}
}

// static returns the node below n at text, and makes it if there is none.
func (n *formNode) static(text string) *formNode {
next:
	for text != "" {
		for i, k := range n.kids {
			same := 0
			for same < len(text) && same < len(k.text) && text[same] == k.text[same] {
				same++
			}
			if same == 0 {
				continue
			}
			if same < len(k.text) {
				n.kids[i] = &formNode{text: text[:same], kids: []*formNode{k}}
				k.text = k.text[same:]
			}
			n, text = n.kids[i], text[same:]
			continue next
		}
		k := &formNode{text: text}
		n.kids = append(n.kids, k)
		return k
	}
	return n
}

// below returns the node after t.
func (n *formNode) below(t *tail) *formNode {
	for _, e := range n.tails {
		if e.tail.text == t.text {
			return e.to
		}
	}
	to := &formNode{}
	n.tails = append(n.tails, formTail{t, to})
	return to
}

// formSearch is a search in a tree of forms.
type formSearch struct {
	*search
	far int // how much of the path could be followed
}

// find looks for the path, from the byte at on, below n. There are count values so far.
func (n *formNode) find(f *formSearch, at, count int) bool {
	f.far = max(f.far, at)
	if at == len(f.path) && n.leaf != nil {
		f.route, f.n = n.leaf, count
		return true
	}
	for _, k := range n.kids {
		if bytes.HasPrefix(f.path[at:], []byte(k.text)) {
			if k.find(f, at+len(k.text), count) {
				return true
			}
			break
		}
	}
	if n.tails != nil {
		end := at
		for end < len(f.path) && f.path[end] != '/' {
			end++
		}
		for _, e := range n.tails {
			if at < len(f.path) && e.tail.match(f.path[at:end], f.values[count:], at) && e.to.find(f, end, count+len(e.tail.names)) {
				return true
			}
		}
	}
	if n.rest == nil {
		return false
	}
	f.values[count] = door.Span{From: uint32(at), End: uint32(len(f.path))}
	f.route, f.n, f.open = n.rest, count+1, at < len(f.path)
	return true
}

// appendURL appends a path that f matches with values, which are for the names of its path.
func (f *form) appendURL(out []byte, values []string) ([]byte, error) {
	var path []byte
	left := values
	for _, p := range f.parts {
		path = append(path, p.text...)
		for _, after := range p.tail.after {
			if p.tail.rest {
				for i, part := range strings.Split(left[0], "/") {
					if i > 0 {
						path = append(path, '/')
					}
					path = appendCanonical(path, part)
				}
			} else {
				path = appendCanonical(path, left[0])
			}
			left, path = left[1:], appendCanonical(path, after)
		}
	}
	path = append(path, f.text...)
	root := &formNode{}
	root.add([]form{{parts: f.parts, text: f.text, route: &Route{}}})
	s := formSearch{search: &search{path: path, values: make([]door.Span, len(values)+1)}}
	if isClean(path) && !hasDotSegment(path) && root.find(&s, 0, 0) {
		for i, v := range values {
			span := s.values[i]
			if string(decoded(path[span.From:span.End])) != v {
				return nil, fmt.Errorf("a path with %q is matched with %q in its place", v, decoded(path[span.From:span.End]))
			}
		}
		return pathrule.AppendReference(out, path), nil
	}
	return nil, fmt.Errorf("the path %q isn't matched", pathrule.AppendReference(nil, path))
}
