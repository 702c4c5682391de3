package gale

import (
	"bytes"
	"io"
	"sync"

	"github.com/galehttp/gale/internal/bytesconv"
)

// URI is a URI of RFC 3986 as HTTP uses it:
//
//	scheme "://" [ username [ ":" password ] "@" ] host path [ "?" query ] [ "#" hash ]
//
// The path as it was given ([URI.PathOriginal]) is the truth; the decoded and
// normalised one ([URI.Path]) is made from it, once, when it is asked for.
// Query arguments are parsed when they are asked for.
//
// The zero value is "http:///". URI must not be copied (use [URI.CopyTo]) nor
// used by several goroutines at once.
//
// Slices that methods return belong to the URI: they are valid until it is
// parsed into, reset or released, and must not be written to. What is passed
// to methods is copied.
type URI struct {
	_ noCopy

	// DisablePathNormalizing makes RequestURI and FullURI write the path as it
	// was given, with no more than control characters and spaces encoded, as a
	// proxy may need it. By default they write the normalised path. Parse and
	// Reset set it to false.
	DisablePathNormalizing bool

	pathDone bool // path is made from original
	argsDone bool // args is made from query, and rules from then on

	// buf is the arena that holds the parts below. It only grows between
	// resets: a part that changes is appended anew, so that slices handed out
	// before stay as they are. When buf moves, older parts keep the old array.
	buf []byte

	scheme, host, original, path, query, hash []byte
	username, password                        []byte

	args Args

	fullURI, requestURI []byte // what FullURI and RequestURI returned
}

var uriPool = sync.Pool{New: func() any { return new(URI) }}

// AcquireURI returns an empty URI from a pool. Give it back with [ReleaseURI]
// when it isn't needed any more; not doing so is no error.
func AcquireURI() *URI { return uriPool.Get().(*URI) }

// ReleaseURI puts u into the pool. Neither u nor anything that its methods
// returned may be used afterwards.
func ReleaseURI(u *URI) {
	u.Reset()
	uriPool.Put(u)
}

// Reset makes u the zero value again. Buffers are kept unless they are huge.
func (u *URI) Reset() {
	u.DisablePathNormalizing, u.pathDone, u.argsDone = false, false, false
	u.buf = keepScratch(u.buf)
	u.fullURI = keepScratch(u.fullURI)
	u.requestURI = keepScratch(u.requestURI)
	u.scheme, u.host, u.original, u.path, u.query, u.hash = nil, nil, nil, nil, nil, nil
	u.username, u.password = nil, nil
	u.args.Reset()
}

// keepScratch returns b emptied, or nil if it is too large to be kept.
func keepScratch(b []byte) []byte {
	if cap(b) > maxKeptScratch {
		return nil
	}
	return b[:0]
}

// store copies b to the arena.
func (u *URI) store(b []byte) []byte {
	n := len(u.buf)
	if n > maxKeptScratch {
		u.buf, n = nil, 0 // most of it is dead: parts that changed often
	}
	u.buf = append(u.buf, b...)
	return u.buf[n:len(u.buf):len(u.buf)]
}

// storeSafe copies b to the arena with control characters encoded as %XX.
func (u *URI) storeSafe(b []byte) []byte {
	n := len(u.buf)
	if n > maxKeptScratch {
		u.buf, n = nil, 0
	}
	u.buf = bytesconv.AppendEscaped(u.buf, b, &notControl)
	return u.buf[n:len(u.buf):len(u.buf)]
}

// notControl and lineSafe tell what may stand in a part of a URI and in one
// that goes into a request line or a field.
var notControl, lineSafe, querySafe = func() (a, b, c [256]bool) {
	for i := range 256 {
		a[i] = i >= ' ' && i != 0x7f
		b[i] = a[i] && i != ' '
		c[i] = b[i] && i != '#'
	}
	return
}()

// CopyTo makes dst a copy of u.
func (u *URI) CopyTo(dst *URI) {
	if u == dst {
		return
	}
	dst.Reset()
	dst.DisablePathNormalizing = u.DisablePathNormalizing
	dst.scheme = dst.store(u.scheme)
	dst.host = dst.store(u.host)
	dst.original = dst.store(u.original)
	if u.pathDone {
		dst.path, dst.pathDone = dst.store(u.path), true
	}
	dst.query = dst.store(u.query)
	dst.hash = dst.store(u.hash)
	dst.username = dst.store(u.username)
	dst.password = dst.store(u.password)
	if u.argsDone {
		u.args.CopyTo(&dst.args)
		dst.argsDone = true
	}
}

// Scheme returns the scheme in lower case, "http" if none was given.
func (u *URI) Scheme() []byte {
	if len(u.scheme) == 0 {
		u.scheme = u.store(bytesconv.S2B("http"))
	}
	return u.scheme
}

// SetScheme sets the scheme. It is lower-cased; CR, LF and NUL become spaces.
func (u *URI) SetScheme(scheme string) { u.SetSchemeBytes(bytesconv.S2B(scheme)) }

// SetSchemeBytes is [URI.SetScheme] for bytes.
func (u *URI) SetSchemeBytes(scheme []byte) {
	u.scheme = u.store(scheme)
	bytesconv.LowerInPlace(u.scheme)
	bytesconv.NeutralizeLine(u.scheme)
}

// Host returns the host in lower case, with the port if there is one, such as
// "example.com:8080" or "[::1]". It has no username and password.
func (u *URI) Host() []byte { return u.host }

// SetHost sets the host, with the port if it has one. It is lower-cased; CR,
// LF and NUL become spaces. Whether it is a valid host is not checked here:
// clients check it before they dial.
func (u *URI) SetHost(host string) { u.SetHostBytes(bytesconv.S2B(host)) }

// SetHostBytes is [URI.SetHost] for bytes.
func (u *URI) SetHostBytes(host []byte) {
	u.host = u.store(host)
	bytesconv.LowerInPlace(u.host)
	bytesconv.NeutralizeLine(u.host)
}

// Username returns the part of the authority before "@" and ":", as it was
// given. It is never written out.
func (u *URI) Username() []byte { return u.username }

// SetUsername sets the username. CR, LF and NUL become spaces.
func (u *URI) SetUsername(username string) { u.SetUsernameBytes(bytesconv.S2B(username)) }

// SetUsernameBytes is [URI.SetUsername] for bytes.
func (u *URI) SetUsernameBytes(username []byte) {
	u.username = u.store(username)
	bytesconv.NeutralizeLine(u.username)
}

// Password returns the part of the authority between the first ":" and the
// last "@", as it was given. It is never written out.
func (u *URI) Password() []byte { return u.password }

// SetPassword sets the password. CR, LF and NUL become spaces.
func (u *URI) SetPassword(password string) { u.SetPasswordBytes(bytesconv.S2B(password)) }

// SetPasswordBytes is [URI.SetPassword] for bytes.
func (u *URI) SetPasswordBytes(password []byte) {
	u.password = u.store(password)
	bytesconv.NeutralizeLine(u.password)
}

// Path returns the path, decoded once and normalised: it begins with "/", has
// no "//" and no "." or ".." segments, and never leads above "/". "/%2e%2e/a"
// is "/a", and "/%252e" is "/%2e". On Windows a backslash is a slash.
//
// The result may have any byte, also CR, LF and NUL.
func (u *URI) Path() []byte {
	if !u.pathDone {
		n := len(u.buf)
		u.buf = appendNormalPath(u.buf, u.original, backslashIsSlash)
		u.path = u.buf[n:len(u.buf):len(u.buf)]
		u.pathDone = true
	}
	return u.path
}

// SetPath sets the path, encoded or not: it is decoded and normalised when
// Path is called, and written in that form.
func (u *URI) SetPath(path string) { u.SetPathBytes(bytesconv.S2B(path)) }

// SetPathBytes is [URI.SetPath] for bytes.
func (u *URI) SetPathBytes(path []byte) {
	u.original = u.store(path)
	u.path, u.pathDone = nil, false
}

// PathOriginal returns the path as it was given to Parse or SetPath.
func (u *URI) PathOriginal() []byte { return u.original }

// LastPathSegment returns what follows the last "/" of [URI.Path]:
// "c.html" of "/a/b/c.html", nothing of "/a/".
func (u *URI) LastPathSegment() []byte {
	path := u.Path()
	return path[bytes.LastIndexByte(path, '/')+1:]
}

// QueryString returns the query as it was given, without "?". Changes to
// QueryArgs don't show here.
func (u *URI) QueryString() []byte { return u.query }

// SetQueryString sets the query. Control characters are encoded.
func (u *URI) SetQueryString(queryString string) {
	u.SetQueryStringBytes(bytesconv.S2B(queryString))
}

// SetQueryStringBytes is [URI.SetQueryString] for bytes.
func (u *URI) SetQueryStringBytes(queryString []byte) {
	u.query = u.storeSafe(queryString)
	u.argsDone = false
}

// QueryArgs returns the arguments of the query. Once it has been called, what
// RequestURI and FullURI write as the query are these arguments, with their
// changes, until the query is set anew. They belong to u.
func (u *URI) QueryArgs() *Args {
	if !u.argsDone {
		u.args.ParseBytes(u.query)
		u.argsDone = true
	}
	return &u.args
}

// Hash returns what follows "#".
func (u *URI) Hash() []byte { return u.hash }

// SetHash sets what follows "#". Control characters are encoded.
func (u *URI) SetHash(hash string) { u.SetHashBytes(bytesconv.S2B(hash)) }

// SetHashBytes is [URI.SetHash] for bytes.
func (u *URI) SetHashBytes(hash []byte) { u.hash = u.storeSafe(hash) }

// RequestURI returns path and query as they stand in a request line, such as
// "/a%20b?c=d". The slice is valid until the next call of RequestURI as well.
func (u *URI) RequestURI() []byte {
	u.requestURI = u.appendRequestURI(u.requestURI[:0])
	return u.requestURI
}

func (u *URI) appendRequestURI(dst []byte) []byte {
	switch {
	case !u.DisablePathNormalizing:
		dst = bytesconv.AppendEscaped(dst, u.Path(), &bytesconv.PathSafe)
	case len(u.original) == 0:
		dst = append(dst, '/')
	default:
		dst = bytesconv.AppendEscaped(dst, u.original, &lineSafe)
	}
	if u.argsDone {
		if u.args.Len() > 0 {
			dst = u.args.AppendBytes(append(dst, '?'))
		}
		return dst
	}
	if len(u.query) > 0 {
		dst = bytesconv.AppendEscaped(append(dst, '?'), u.query, &querySafe)
	}
	return dst
}

// FullURI returns {scheme}://{host}{request URI}#{hash}. Username and password
// are left out. The slice is valid until the next call of FullURI, String or
// WriteTo as well.
func (u *URI) FullURI() []byte {
	u.fullURI = u.AppendBytes(u.fullURI[:0])
	return u.fullURI
}

// AppendBytes appends the full URI to dst and returns the extended slice. See
// [URI.FullURI].
func (u *URI) AppendBytes(dst []byte) []byte {
	dst = append(dst, u.Scheme()...)
	dst = append(dst, "://"...)
	dst = appendHost(dst, u.host)
	dst = u.appendRequestURI(dst)
	if len(u.hash) > 0 {
		dst = bytesconv.AppendEscaped(append(dst, '#'), u.hash, &lineSafe)
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
