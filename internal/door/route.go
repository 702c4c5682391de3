package door

import (
	"bytes"
	"slices"
	"sync/atomic"
)

// Route is what routers have found for a request. A RequestCtx has one, which package router
// fills and the methods PathValue, Pattern and UserValue of RequestCtx read.
type Route struct {
	Used   bool        // a router has looked at the request; set before any other field
	Prefix string      // of the mounts around the router, as patterns are written
	Found  *Match      // what matched, or nil; belongs to the router
	Values []Span      // what the wildcards of the pattern have captured
	Base   Span        // the path of the mounts around, encoded
	Noted  bool        // functions of BeforeSend may look at a copy of the Route, see NoteRoute
	Text   []byte      // where Values and Others are. While the request lasts, only Resume makes it shorter
	Others []NamedSpan // values of the routers around, and those of SetPathValue: after Values
	Missed []byte      // the path, as it was received, for which a router has found nothing

	// Asked is the number of the router whose limits were asked for before the body of the request was read,
	// see Keep. 0 is none.
	Asked uint64
	// Of the context, which doesn't change where they are:
	Given *atomic.Bool // other goroutines may use the request, and change r
	Made  *bool        // the URI of the request is made
	Moved bool         // a router has changed the path of the request, see SetRoutePath
	Early bool         // the URI of the request was made before BeginRoute

	Running bool   // what is above belongs to a route whose handler runs, not in a mount of it
	Outer   *Outer // what the router that begins has to resume, or nil

	kept  kept
	few   bool  // what follows, Prefix, Base, Others or Outer may be set: few requests have these
	mount mount // that runs
	start uint32
	saved []byte // paths, see Save
}

// kept says for which request a router has found what is in a Route, before its handler runs.
type kept struct {
	router   uint64 // its number, 0 for none
	text     []byte // the target, and then the host if it counts
	target   int    // how many bytes of text are the target
	method   uint8
	hostless bool // the host doesn't count
	owner    any  // what the router has found, for itself
}

// Keep says that the router with a number has found what is in r for a request with a method, a target as
// BeginRoute returns it, and a host if that counts. The handler of the router need not look for it again if the
// request still is that one. A method without a number is not kept. The router gets owner from Kept.
func (r *Route) Keep(router uint64, method uint8, target []byte, host string, hosts bool, owner any) {
	r.Asked = router
	if r.Outer != nil || method == 0 {
		return
	}
	k := &r.kept
	k.router, k.method, k.target, k.hostless, k.owner = router, method, len(target), !hosts, owner
	if k.text = append(k.text[:0], target...); hosts {
		k.text = append(k.text, host...)
	}
}

// Kept returns the owner that Keep got, once Take has returned true.
func (r *Route) Kept() any { return r.kept.owner }

// HasKept reports whether Keep was called for the request, and no router has begun since.
func (r *Route) HasKept() bool { return r.kept.router != 0 }

// Take ends what Keep has begun. It reports whether r has what the router has found for this request.
func (r *Route) Take(router uint64, method uint8, target []byte, host string) bool {
	k := &r.kept
	same := k.router == router && k.method == method && (k.hostless || string(k.text[k.target:]) == host)
	k.router = 0
	return same && (string(k.text[:k.target]) == string(target) || bytes.Equal(pathIn(k.text[:k.target]), pathIn(target)))
}

// pathIn returns target without its query.
func pathIn(target []byte) []byte {
	path, _, _ := bytes.Cut(target, []byte{'?'})
	return path
}

// mount is where a router is that runs now.
type mount struct {
	prefix string // as Route.Prefix
	base   Span   // as Route.Base
	depth  int    // how many mounts and routes with an Outer are around
}

// Outer is a route whose handler or middleware has called another router, not in a mount: that one resumes
// the route when it returns.
type Outer struct {
	found  *Match
	values []Span
	others []NamedSpan
	prefix string
	base   Span
	start  uint32
	text   int // the length of Text: what comes after it belongs to the router inside
	mount  mount
}

// maxDepth is how many mounts may be around a router: a router in a mount of itself would keep a path for
// each segment.
const maxDepth = 16

// Match is what a Route shares with all requests for the same pattern. Its fields never change.
type Match struct {
	Pattern string   // without method and Prefix
	Host    int      // how many bytes of Pattern are a host
	Names   []string // of Route.Values; "" for one without a name

	joined atomic.Pointer[joined]
}

// joined is what Match.Below has returned, in a list of at most maxJoined.
type joined struct {
	prefix, whole string
	left          int // how many may come after it
	next          *joined
}

// maxJoined is how many prefixes of a pattern are kept: a router is mounted in few places.
const maxJoined = 8

// Below returns prefix and then the pattern, but the host of the pattern comes first and is the only one.
// It allocates once for a prefix.
func (m *Match) Below(prefix string) string {
	if prefix == "" {
		return m.Pattern
	}
	first := m.joined.Load()
	for j := first; j != nil; j = j.next {
		if j.prefix == prefix {
			return j.whole
		}
	}
	whole := prefix + m.Pattern
	if m.Host > 0 {
		whole = m.Pattern[:m.Host] + prefix[hostLen(prefix):] + m.Pattern[m.Host:]
	}
	left := maxJoined - 1
	if first != nil {
		left = first.left - 1
	}
	if left >= 0 { // another goroutine may be first
		m.joined.CompareAndSwap(first, &joined{prefix, whole, left, first})
	}
	return whole
}

// Span is Text[From:End].
type Span struct{ From, End uint32 }

// NamedSpan is the value of a name.
type NamedSpan struct {
	Name string
	Span
}

// maxKeptText is the capacity above which Reset drops what a request has left.
const maxKeptText = 4096

// Reset makes r the zero value, and keeps its memory and what belongs to the context.
func (r *Route) Reset() {
	if r.few || r.Running || r.Moved || len(r.Missed) > 0 || cap(r.Text) > maxKeptText || cap(r.kept.text) > maxKeptText || cap(r.Values) > maxKeptText/8 {
		r.resetAll()
		return
	}
	r.Used, r.Noted, r.Early, r.Found, r.Values, r.Text = false, false, false, nil, r.Values[:0], r.Text[:0]
	if r.Asked != 0 {
		k := &r.kept
		r.Asked, k.router, k.method, k.target, k.hostless, k.owner, k.text = 0, 0, 0, 0, false, nil, k.text[:0]
	}
}

func (r *Route) resetAll() {
	clear(r.Others)
	if cap(r.Text) > maxKeptText || cap(r.saved) > maxKeptText || cap(r.Missed) > maxKeptText || cap(r.Values) > maxKeptText/8 || cap(r.Others) > maxKeptText/8 || cap(r.kept.text) > maxKeptText {
		*r = Route{Given: r.Given, Made: r.Made}
		return
	}
	*r = Route{Given: r.Given, Made: r.Made, Values: r.Values[:0], Text: r.Text[:0], Others: r.Others[:0], Missed: r.Missed[:0], saved: r.saved[:0], kept: kept{text: r.kept.text[:0]}}
}

// Value returns the bytes of the value called name. r may be nil.
func (r *Route) Value(name string) (value []byte, ok bool) {
	if r == nil {
		return nil, false
	}
	if name != "" && r.Found != nil {
		for i, n := range r.Found.Names { // one may be ""
			if len(n) == len(name) && n[len(n)-1] == name[len(name)-1] && n == name { // mostly without a call
				return r.Bytes(r.Values[i]), true
			}
		}
	}
	for i := range r.Others {
		if r.Others[i].Name == name {
			return r.Bytes(r.Others[i].Span), true
		}
	}
	return nil, false
}

// Bytes returns the text of s.
func (r *Route) Bytes(s Span) []byte { return r.Text[s.From:s.End:s.End] }

// Set sets the value called name.
func (r *Route) Set(name, value string) {
	r.Used = true
	s := r.store(value)
	r.setSpan(name, s)
	if name == "" || r.Found == nil {
		return
	}
	for i, n := range r.Found.Names {
		if n == name {
			r.Values[i] = s
		}
	}
}

func (r *Route) setSpan(name string, s Span) {
	r.few = true
	for i := range r.Others {
		if r.Others[i].Name == name {
			r.Others[i].Span = s
			return
		}
	}
	r.Others = append(r.Others, NamedSpan{name, s})
}

func (r *Route) store(text string) Span {
	from := uint32(len(r.Text))
	r.Text = append(r.Text, text...)
	return Span{from, uint32(len(r.Text))}
}

// Enter says that a mount runs, until Restore: routers in it look at the request without prefix, which is
// a pattern, and without the path before rest, which is in Text.
func (r *Route) Enter(prefix *Match, rest Span) {
	for i, n := range r.Found.Names {
		if n != "" {
			r.setSpan(n, r.Values[i])
		}
	}
	from := uint32(len(r.Text))
	r.Text = append(append(r.Text, r.Bytes(r.Base)...), r.Text[r.start:rest.From-1]...)
	r.few = true
	r.mount = mount{prefix.Below(r.Prefix), Span{from, uint32(len(r.Text))}, r.mount.depth + 1}
	r.Running = false
}

// Deep reports whether no more mounts may be inside.
func (r *Route) Deep() bool { return r.mount.depth >= maxDepth }

// Holds reports whether r is what a router that runs now has found, which is m.
func (r *Route) Holds(m *Match) bool { return r.Found == m && r.Base == r.mount.base }

// Mount returns where r is, for Save.
func (r *Route) Mount() Saved { return Saved{mount: r.mount, running: r.Running} }

// Saved says where paths are that Save has kept, and what the mount around was.
type Saved struct {
	before, path, end int
	mount             mount
	running           bool
}

// MountPath returns the path of the mounts that run, as Base is. r may be nil.
func (r *Route) MountPath() []byte {
	if r == nil {
		return nil
	}
	return r.Bytes(r.mount.base)
}

// Save keeps a path that was changed, and the one before, until Restore. s is what Mount has returned
// before Enter.
func (r *Route) Save(s Saved, before, path []byte) Saved {
	n := len(r.saved)
	r.saved = append(append(r.saved, before...), path...)
	s.before, s.path, s.end = n, n+len(before), len(r.saved)
	return s
}

// Restore ends what Save has begun with: the mount has returned. It returns the path before if the path is
// still what it was changed to, else nil.
func (r *Route) Restore(s Saved, path []byte) (before []byte) {
	r.mount, r.Running = s.mount, s.running
	if s.end <= len(r.saved) && bytes.Equal(path, r.saved[s.path:s.end]) {
		before = r.saved[s.before:s.path]
	}
	r.saved = r.saved[:min(len(r.saved), s.before)]
	return before
}

// Begin makes r ready for what a router finds.
func (r *Route) Begin() {
	if r.few || r.Running {
		r.beginWithOthers()
	}
}

// beginWithOthers is Begin where other routers were before, or values were set.
func (r *Route) beginWithOthers() {
	r.few, r.Outer, r.kept.router = true, nil, 0
	inside := r.Running
	if inside && !r.Given.Load() { // or nothing is resumed
		r.Outer = &Outer{r.Found, r.Values, slices.Clone(r.Others), r.Prefix, r.Base, r.start, len(r.Text), r.mount}
		r.Values = nil
		r.mount.depth++
	}
	r.Running = false
	r.Prefix, r.Base, r.start = r.mount.prefix, r.mount.base, 0
	if inside || len(r.Others) != 0 || r.mount.depth != 0 {
		r.start = uint32(len(r.Text))
	}
}

// End says that the handler of the route has returned. It does nothing if the program has the request now.
func (r *Route) End() {
	if !r.Given.Load() {
		r.Running = false
	}
}

// Capture keeps path after what Text has, and the first n of Values, which are in it.
func (r *Route) Capture(path []byte, n int) {
	if r.Values = r.Values[:n]; r.start == 0 && len(path) <= cap(r.Text) {
		r.Text = r.Text[:len(path)]
		copy(r.Text, path)
		return
	}
	r.captureAfter(path)
}

//go:noinline as it is rare
func (r *Route) captureAfter(path []byte) {
	r.Text = append(r.Text[:r.start], path...)
	r.shift()
}

// shift moves the values to where the path is.
func (r *Route) shift() {
	for i := range r.Values {
		r.Values[i].From += r.start
		r.Values[i].End += r.start
	}
}

// Resume makes outer, which was Outer, the route again. Values of the router inside are no longer valid.
func (r *Route) Resume(outer *Outer) {
	r.Found, r.Values, r.Prefix, r.Base, r.start = outer.found, outer.values, outer.prefix, outer.base, outer.start
	r.mount, r.Running, r.Text = outer.mount, true, r.Text[:outer.text]
	clear(r.Others)
	r.Others = append(r.Others[:0], outer.others...)
}

// Miss says that the router that runs now has found nothing, whatever others have found since.
func (r *Route) Miss() {
	r.Found, r.Values, r.Prefix, r.Base = nil, r.Values[:0], r.mount.prefix, r.mount.base
}

// Start returns where in Text the path begins that the router looks at.
func (r *Route) Start() int { return int(r.start) }

// NotFound says that a router has found nothing for path, which it copies.
func (r *Route) NotFound(path []byte) {
	r.Found, r.Text, r.Values, r.Missed = nil, r.Text[:r.start], r.Values[:0], append(r.Missed[:0], path...)
}

// MissAgain makes path what a router around has found nothing for. It does nothing if the program has the request now.
func (r *Route) MissAgain(path []byte) {
	if !r.Given.Load() {
		r.Missed = append(r.Missed[:0], path...)
	}
}

func hostLen(pattern string) (n int) {
	for n < len(pattern) && pattern[n] != '/' {
		n++
	}
	return n
}

// Whole returns the pattern with the prefixes of the mounts around. r may be nil.
func (r *Route) Whole() string {
	if r == nil || r.Found == nil {
		return ""
	}
	return r.Found.Below(r.Prefix)
}

// CopyTo makes dst a copy that shares no memory with r that r changes. It knows nothing of paths to restore.
func (r *Route) CopyTo(dst *Route) {
	dst.Reset()
	values, text, others, saved := append(dst.Values, r.Values...), append(dst.Text, r.Text...), append(dst.Others, r.Others...), dst.saved
	missed, text2 := append(dst.Missed, r.Missed...), dst.kept.text
	given, made := dst.Given, dst.Made
	*dst = *r
	dst.Given, dst.Made, dst.kept = given, made, kept{text: text2}
	dst.Running, dst.Outer = false, nil
	dst.Values, dst.Text, dst.Others, dst.Missed, dst.saved = values, text, others, missed, saved
}

var (
	// RouteOf returns the Route of ctx, a *gale.RequestCtx. Package gale sets it.
	RouteOf func(ctx any) *Route
	// BeginRoute gives a router the Route of ctx, a *gale.RequestCtx, after Route.Begin, the number of the
	// method in package msg, and the path of its request as it was received, which a query and a fragment
	// may follow: nothing for a target that has none, such as "*". From then on RequestCtx.Path keeps %2F
	// and %5C encoded, and a %25 before 2F, 5C, 252F and so on. Package gale sets it.
	BeginRoute func(ctx any) (r *Route, method uint8, target []byte)
	// NoteRoute copies the Route of ctx, a *gale.RequestCtx, for functions of BeforeSend that come after a
	// timeout. A router calls it when it has found something and Route.Noted is set. Package gale sets it.
	NoteRoute func(ctx any)
	// ResumeRoute says that the handler of a route has returned: r, that of ctx, a *gale.RequestCtx, resumes
	// outer. It does nothing if the program has the request now. Package gale sets it.
	ResumeRoute func(ctx any, r *Route, outer *Outer)
	// DropURI makes the URI of the request of ctx, a *gale.RequestCtx, be made again from the header when it is
	// asked for. Package gale sets it.
	DropURI func(ctx any)
	// SetRoutePath makes path, which is encoded, the path of the request of ctx, a *gale.RequestCtx.
	// ChangeRoutePath does so for a mount, with what Route.Mount has returned. RestoreRoutePath undoes that, unless the program has the
	// request now or has set another path. Package gale sets them.
	SetRoutePath     func(ctx any, path []byte)
	ChangeRoutePath  func(ctx any, around Saved, path []byte) Saved
	RestoreRoutePath func(ctx any, saved Saved)
)
