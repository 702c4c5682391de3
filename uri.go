package gale

import (
	"bytes"
	"io"
	"math"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
)

// URI is a URI of RFC 3986 as HTTP uses it:
//
//	scheme "://" [ username [ ":" password ] "@" ] host path [ "?" query ] [ "#" hash ]
//
// The path as it was given ([URI.PathOriginal]) is what is stored. The decoded and
// normalised path ([URI.Path]) is made from it once, at the first call. Query
// arguments are also parsed at the first call that needs them.
//
// The zero value is "http:///". URI must not be copied (use [URI.CopyTo]) or used
// by several goroutines at once.
//
// Bytes that methods return are borrowed; see "Borrowed bytes" in the comment of the
// package. Only parsing into the URI, Reset and a release count as changes. Methods
// copy their arguments.
type URI struct {
	_ noCopy

	// DisablePathNormalizing makes RequestURI and FullURI write the path as it was
	// given, as a proxy may need it; only control characters and spaces are
	// encoded. By default they write the normalised path. Parse and Reset set it to
	// false.
	//
	// So what is sent is not what Path and [RequestCtx.Path] return, and what a program
	// has checked there: the server may read /x/%2e%2e/admin as /admin, or /x/../admin
	// as it is. Check PathOriginal then, or refuse paths with dot segments, as package
	// reverse does.
	DisablePathNormalizing bool

	pathDone   bool // path is made from original
	pathPlain  bool // original is the path, and is written as it is
	queryPlain bool // query needs no encoding when it is written
	argsDone   bool // args is made from query, and rules from then on
	userParsed bool // username and password were parsed with the host; a new host removes them
	routed     bool // the path keeps these and %25 before 2F and 5C, see door.BeginRoute
	keepsSlash bool // the path keeps %2F and %5C; set for requests only, see door.KeepSlashes

	// buf is the arena that holds the parts. A part that changes is appended again,
	// so that slices returned before stay as they are. buf begins with the last
	// host that was found to be valid and lower-case already, validHost bytes: the
	// next request often has the same host.
	buf       []byte
	validHost int
	uriParts

	args Args

	fullURI, requestURI []byte // what FullURI and RequestURI returned

	loan *lifetime.Loan // what u belongs to while it is lent, else nil
}

// uriParts says where the parts of a URI are in its arena. It holds no pointers, so
// clearing it is cheap.
type uriParts struct {
	scheme, host, original, path, query, hash, username, password uriPart
}

// uriPart is arena[off:end].
type uriPart struct{ off, end uint32 }

func (p uriPart) empty() bool { return p.off == p.end }

var uriPool = pool.Pool{New: func() any { return new(URI) }}

// AcquireURI returns an empty URI from a pool. It belongs to the caller until
// [ReleaseURI]. If it isn't released, the garbage collector frees it.
func AcquireURI() *URI {
	if l := borrow("ReleaseURI"); l != nil {
		u := new(URI)
		u.lend(l)
		return u
	}
	return uriPool.Get().(*URI)
}

// ReleaseURI puts u into the pool. Neither u nor anything that its methods
// returned may be used afterwards.
func ReleaseURI(u *URI) {
	if l := u.loan; l != nil {
		giveUp(u, l, "ReleaseURI")
		return
	}
	u.Reset()
	uriPool.Put(u)
}

// Reset sets u to the zero value. It keeps the buffers for reuse unless they are
// huge.
func (u *URI) Reset() {
	used(u.loan)
	u.DisablePathNormalizing, u.pathDone, u.pathPlain, u.queryPlain, u.argsDone, u.userParsed, u.keepsSlash, u.routed = false, false, false, false, false, false, false, false
	if cap(u.buf) > maxKeptScratch {
		u.buf, u.validHost = nil, 0
	}
	u.buf = u.buf[:u.validHost]
	u.uriParts = uriParts{}
	u.fullURI = keepScratch(u.fullURI)
	u.requestURI = keepScratch(u.requestURI)
	if u.args.used() {
		u.args.Reset()
	}
}

// keepScratch returns b emptied, or nil if it is too large to be kept.
func keepScratch(b []byte) []byte {
	if cap(b) > maxKeptScratch {
		return nil
	}
	return b[:0]
}

// maxURIArena is how many bytes parts can address. A part that would lie beyond it
// becomes empty.
const maxURIArena = math.MaxInt32

// part returns the bytes of p.
func (u *URI) part(p uriPart) []byte { return u.buf[p.off:p.end:p.end] }

// partOf returns u.buf[from:] as a part.
func (u *URI) partOf(from int) uriPart {
	if len(u.buf) > maxURIArena {
		u.buf = u.buf[:from]
	}
	return uriPart{uint32(from), uint32(len(u.buf))}
}

// store copies b to the arena.
func (u *URI) store(b []byte) uriPart {
	used(u.loan)
	u.compact()
	n, had := len(u.buf), cap(u.buf)
	u.buf = append(u.buf, b...)
	u.own(had)
	return u.partOf(n)
}

// storeSafe copies b to the arena with control characters written as %XX.
func (u *URI) storeSafe(b []byte) uriPart {
	used(u.loan)
	u.compact()
	n, had := len(u.buf), cap(u.buf)
	u.buf = bytesconv.AppendEscaped(u.buf, b, &notControl)
	u.own(had)
	return u.partOf(n)
}

// compact copies the parts to a new arena if most of the old one is unused, because
// parts changed often. The old one isn't reused: callers may hold slices of it.
func (u *URI) compact() {
	if len(u.buf) > maxKeptScratch {
		u.copyLiving()
	}
}

func (u *URI) copyLiving() {
	parts := []*uriPart{&u.scheme, &u.host, &u.original, &u.path, &u.query, &u.hash, &u.username, &u.password}
	living := 0
	for _, p := range parts {
		living += int(p.end - p.off)
	}
	if len(u.buf) < 2*living+maxKeptScratch {
		return
	}
	buf := lifetime.Make(u.loan, 2*living)
	for _, p := range parts {
		n := len(buf)
		buf = append(buf, u.part(*p)...)
		*p = uriPart{uint32(n), uint32(len(buf))}
	}
	u.buf, u.validHost = buf, 0
}

// notControl, lineSafe and querySafe say which bytes may be in a part of a URI, in
// a part that is written into a request line or a header, and in a query.
var notControl, lineSafe, querySafe = func() (a, b, c [256]bool) {
	for i := range 256 {
		a[i] = i >= ' ' && i != 0x7f
		b[i] = a[i] && i != ' '
		c[i] = b[i] && i != '#'
	}
	return
}()

// CopyTo makes dst a copy of u that shares no memory with it.
func (u *URI) CopyTo(dst *URI) {
	used(u.loan)
	used(dst.loan)
	if u == dst {
		return
	}
	dst.Reset()
	dst.DisablePathNormalizing = u.DisablePathNormalizing
	dst.buf = lifetime.Kept(dst.loan, dst.buf, append(dst.buf[:0], u.buf...))
	dst.validHost, dst.uriParts = u.validHost, u.uriParts
	dst.pathDone, dst.pathPlain, dst.queryPlain = u.pathDone, u.pathPlain, u.queryPlain
	dst.userParsed, dst.keepsSlash, dst.routed = u.userParsed, u.keepsSlash, u.routed
	if u.argsDone {
		u.args.CopyTo(&dst.args)
		dst.argsDone = true
	}
}

// Scheme returns the scheme in lower case, "http" if none was given. The bytes are
// borrowed: they are valid until u changes or the handler returns.
func (u *URI) Scheme() []byte {
	if u.scheme.empty() {
		if lapsed(u.loan) {
			return nil
		}
		u.scheme = u.store(bytesconv.S2B("http"))
	}
	return u.part(u.scheme)
}

// SetScheme sets the scheme. It is lower-cased; CR, LF and NUL become spaces.
func (u *URI) SetScheme(scheme string) { u.SetSchemeBytes(bytesconv.S2B(scheme)) }

// SetSchemeBytes is [URI.SetScheme] for bytes.
func (u *URI) SetSchemeBytes(scheme []byte) {
	u.scheme = u.store(scheme)
	b := u.part(u.scheme)
	bytesconv.LowerInPlace(b)
	bytesconv.NeutralizeLine(b)
}

// Host returns the host in lower case, with the port if there is one, such as
// "example.com:8080" or "[::1]". It doesn't include username and password. The
// bytes are borrowed: they are valid until u changes or the handler returns.
func (u *URI) Host() []byte {
	if u.loan != nil {
		u.use()
	}
	return u.part(u.host)
}

// SetHost sets the host, with the port if it has one. It is lower-cased; CR, LF and
// NUL become spaces. SetHost doesn't check whether the host is valid: clients check
// that before they dial.
//
// A username and a password that were parsed with the old host are removed if the
// new host is different. Those set by SetUsername and SetPassword stay.
func (u *URI) SetHost(host string) { u.SetHostBytes(bytesconv.S2B(host)) }

// SetHostBytes is [URI.SetHost] for bytes.
func (u *URI) SetHostBytes(host []byte) {
	old := u.part(u.host)
	u.host = u.store(host)
	b := u.part(u.host)
	bytesconv.LowerInPlace(b)
	bytesconv.NeutralizeLine(b)
	if u.userParsed && !bytes.Equal(b, old) {
		u.username, u.password, u.userParsed = uriPart{}, uriPart{}, false
	}
}

// Username returns the part of the authority before "@" and ":", decoded: "a@b" for
// "http://a%40b:c@host/". A "%" without two hex digits stays. RequestURI, FullURI and
// String never include it. The bytes are borrowed: they are valid until u changes or the
// handler returns. They may be any, also CR, LF and NUL.
func (u *URI) Username() []byte {
	if u.loan != nil {
		u.use()
	}
	return u.part(u.username)
}

// SetUsername sets the username; it isn't decoded. CR, LF and NUL become spaces.
func (u *URI) SetUsername(username string) { u.SetUsernameBytes(bytesconv.S2B(username)) }

// SetUsernameBytes is [URI.SetUsername] for bytes.
func (u *URI) SetUsernameBytes(username []byte) {
	u.userParsed = false
	u.username = u.store(username)
	bytesconv.NeutralizeLine(u.part(u.username))
}

// Password returns the part of the authority between the first ":" and the last "@",
// decoded as Username is. RequestURI, FullURI and String never include it. The bytes are
// borrowed: they are valid until u changes or the handler returns.
func (u *URI) Password() []byte {
	if u.loan != nil {
		u.use()
	}
	return u.part(u.password)
}

// SetPassword sets the password; it isn't decoded. CR, LF and NUL become spaces.
func (u *URI) SetPassword(password string) { u.SetPasswordBytes(bytesconv.S2B(password)) }

// SetPasswordBytes is [URI.SetPassword] for bytes.
func (u *URI) SetPasswordBytes(password []byte) {
	u.userParsed = false
	u.password = u.store(password)
	bytesconv.NeutralizeLine(u.part(u.password))
}

// Path returns the path, decoded once and normalised: it begins with "/", has no
// "//" and no "." or ".." segments, and never goes above "/". "/%2e%2e/a" is "/a",
// and "/%252e" is "/%2e". On Windows a backslash is a slash. The bytes are
// borrowed: they are valid until u changes or the handler returns.
//
// In a request that adaptor.NewHTTPHandler serves, %2F and %5C stay encoded: net/http
// has found no slash there. So they do in handlers of package router, where a %25 before 2F and
// 5C stays, too, and one before 252F, 25252F and so on.
//
// The result may contain any byte, also CR, LF and NUL.
func (u *URI) Path() []byte {
	if !u.pathDone {
		if lapsed(u.loan) {
			return strSlash
		}
		n, had := len(u.buf), cap(u.buf)
		u.buf = u.appendPath(u.buf)
		u.own(had)
		u.path, u.pathDone = u.partOf(n), true
	}
	return u.part(u.path)
}

// SetPath sets the path. It may be encoded or not: Path decodes and normalises it,
// and RequestURI and FullURI write that form, encoded.
func (u *URI) SetPath(path string) { u.SetPathBytes(bytesconv.S2B(path)) }

// SetPathBytes is [URI.SetPath] for bytes.
func (u *URI) SetPathBytes(path []byte) {
	u.original = u.store(path)
	u.path, u.pathDone, u.pathPlain = uriPart{}, false, false
}

// PathOriginal returns the path as it was given to Parse or SetPath. The bytes are
// borrowed: they are valid until u changes or the handler returns.
func (u *URI) PathOriginal() []byte {
	if u.loan != nil {
		u.use()
	}
	return u.part(u.original)
}

// LastPathSegment returns the text after the last "/" of [URI.Path]: "c.html" for
// "/a/b/c.html", nothing for "/a/". The bytes are borrowed: they are valid until u
// changes or the handler returns.
func (u *URI) LastPathSegment() []byte {
	path := u.Path()
	return path[bytes.LastIndexByte(path, '/')+1:]
}

// QueryString returns the query as it was given, without "?". It doesn't include
// changes to QueryArgs. The bytes are borrowed: they are valid until u changes or
// the handler returns.
func (u *URI) QueryString() []byte {
	if u.loan != nil {
		u.use()
	}
	return u.part(u.query)
}

// SetQueryString sets the query. Control characters are encoded.
func (u *URI) SetQueryString(queryString string) {
	u.SetQueryStringBytes(bytesconv.S2B(queryString))
}

// SetQueryStringBytes is [URI.SetQueryString] for bytes.
func (u *URI) SetQueryStringBytes(queryString []byte) {
	u.query = u.storeSafe(queryString)
	u.queryPlain, u.argsDone = false, false
}

// hasTargetOf reports whether path and query are those of v, which was parsed and not used.
func (u *URI) hasTargetOf(v *URI) bool {
	if !bytes.Equal(u.part(u.original), v.part(v.original)) {
		return false
	}
	if !u.argsDone {
		return bytes.Equal(u.part(u.query), v.part(v.query))
	}
	return u.args.list.Equal(&v.QueryArgs().list)
}

// QueryArgs returns the arguments of the query. After it has been called,
// RequestURI and FullURI write these arguments, with their changes, as the query,
// until the query is set again. The Args is borrowed: it is valid until u is reset
// or the handler returns.
func (u *URI) QueryArgs() *Args {
	if !u.argsDone {
		if lapsed(u.loan) {
			return &u.args
		}
		u.args.ParseBytes(u.part(u.query))
		u.argsDone = true
	}
	return &u.args
}

// Hash returns the text after "#". The bytes are borrowed: they are valid until u
// changes or the handler returns.
func (u *URI) Hash() []byte {
	if u.loan != nil {
		u.use()
	}
	return u.part(u.hash)
}

// SetHash sets the text after "#". Control characters are encoded.
func (u *URI) SetHash(hash string) { u.SetHashBytes(bytesconv.S2B(hash)) }

// SetHashBytes is [URI.SetHash] for bytes.
func (u *URI) SetHashBytes(hash []byte) { u.hash = u.storeSafe(hash) }

// RequestURI returns path and query as they are written in a request line, such as
// "/a%20b?c=d". The bytes are borrowed: they are valid until u changes or the
// handler returns. The next call of RequestURI overwrites them.
func (u *URI) RequestURI() []byte {
	used(u.loan)
	u.requestURI = lifetime.Kept(u.loan, u.requestURI, u.appendRequestURI(u.requestURI[:0]))
	return u.requestURI
}

func (u *URI) appendRequestURI(dst []byte) []byte {
	switch {
	case u.pathPlain:
		dst = append(dst, u.part(u.original)...)
	case !u.DisablePathNormalizing:
		dst = u.appendEscapedPath(dst)
	case u.original.empty():
		dst = append(dst, '/')
	default:
		dst = bytesconv.AppendEscaped(dst, u.part(u.original), &lineSafe)
	}
	if u.argsDone {
		if u.args.Len() > 0 {
			dst = u.args.AppendBytes(append(dst, '?'))
		}
		return dst
	}
	if u.query.empty() {
		return dst
	}
	dst = append(dst, '?')
	if u.queryPlain {
		return append(dst, u.part(u.query)...)
	}
	return bytesconv.AppendEscaped(dst, u.part(u.query), &querySafe)
}

// FullURI returns {scheme}://{host}{request URI}#{hash}. Username and password are
// left out. The bytes are borrowed: they are valid until u changes or the handler
// returns. The next call of FullURI, String or WriteTo overwrites them.
func (u *URI) FullURI() []byte {
	u.fullURI = lifetime.Kept(u.loan, u.fullURI, u.AppendBytes(u.fullURI[:0]))
	return u.fullURI
}

// AppendBytes appends the full URI to dst and returns the extended slice. See
// [URI.FullURI]. The result belongs to the caller.
func (u *URI) AppendBytes(dst []byte) []byte {
	used(u.loan)
	if u.scheme.empty() {
		dst = append(dst, "http"...)
	} else {
		dst = append(dst, u.part(u.scheme)...)
	}
	dst = append(dst, "://"...)
	dst = appendHost(dst, u.part(u.host))
	dst = u.appendRequestURI(dst)
	if !u.hash.empty() {
		dst = bytesconv.AppendEscaped(append(dst, '#'), u.part(u.hash), &lineSafe)
	}
	return dst
}

// String returns the full URI. See [URI.FullURI].
func (u *URI) String() string { return string(u.FullURI()) }

// WriteTo writes the full URI to w. It implements [io.WriterTo].
func (u *URI) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(u.FullURI())
	return int64(n), err
}

// lend makes u part of l: its memory moves to l, and grows there from now on.
func (u *URI) lend(l *lifetime.Loan) {
	u.loan = l
	u.buf = lifetime.Move(l, u.buf)
	u.fullURI, u.requestURI = lifetime.Move(l, u.fullURI), lifetime.Move(l, u.requestURI)
	u.args.lend(l)
}

// lapse empties u at the end of its loan.
func (u *URI) lapse() {
	u.args.lapse()
	u.DisablePathNormalizing, u.pathDone, u.pathPlain, u.queryPlain, u.argsDone, u.userParsed = false, false, false, false, false, false
	for _, b := range [...][]byte{u.buf, u.fullURI, u.requestURI} {
		u.loan.KeepLast(b)
	}
	u.buf, u.validHost, u.uriParts = nil, 0, uriParts{}
	u.fullURI, u.requestURI = nil, nil
}

// own makes sure that the arena, which had a capacity of had bytes, is memory of the
// loan, if there is one.
func (u *URI) own(had int) {
	if u.loan != nil {
		u.ownArena(had)
	}
}

//go:noinline so that own is inlined
func (u *URI) ownArena(had int) {
	if cap(u.buf) != had {
		u.buf = lifetime.Move(u.loan, u.buf)
	}
}

// use is used(u.loan) for methods that would be too large to be inlined with it. There is
// a loan.
//
//go:noinline
func (u *URI) use() { u.loan.Use() }
