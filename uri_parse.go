package gale

import (
	"bytes"
	"fmt"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Parse makes u the URI that uri means for the given host:
//
//   - scheme://authority/path?query#hash: the host of the authority counts,
//     whatever host says.
//   - //authority/path..., if host is empty: the scheme is "http".
//   - Anything else is path, query and hash on host, as in a request line.
//     The path needn't begin with "/".
//
// host is a host with an optional port and may be empty. Hosts must follow the
// grammar of RFC 3986 section 3.2.2, less commas and percent-encoded ASCII; raw
// and percent-encoded UTF-8 is allowed. A username and password may stand
// before the host in an authority, but not in host.
//
// The error is [ErrorInvalidURI], an [InvalidHostError], an [EscapeError] or
// one that says what is wrong with scheme or host. u is empty then. Control
// characters are errors everywhere.
func (u *URI) Parse(host, uri []byte) error { return u.parse(host, uri, false) }

// parse is Parse with "https" as the scheme if uri has none and isTLS is set.
func (u *URI) parse(host, uri []byte, isTLS bool) error {
	// host and uri may be parts of u: they are copied before anything is
	// overwritten, and Reset only forgets.
	u.Reset()
	u.buf = append(append(u.buf, host...), uri...)
	b := u.buf[len(host):]
	u.host = u.buf[:len(host):len(host)]

	err := u.parseParts(b)
	if err == nil {
		if len(u.scheme) == 0 && isTLS {
			u.scheme = u.store(bytesconv.S2B("https"))
		}
		return nil
	}
	u.Reset()
	return err
}

// parseParts finds the parts of the reference b, which lies in the arena.
// u.host is the host in case b has none.
func (u *URI) parseParts(b []byte) error {
	authority, rest, hasAuthority, err := u.splitAuthority(b)
	if err != nil {
		return err
	}
	if !u.setTarget(rest) {
		return ErrorInvalidURI
	}
	if !hasAuthority {
		return u.lowerHost(u.host)
	}
	if len(rest) == 0 {
		u.original = u.store(slash)
	}
	if n := bytes.LastIndexByte(authority, '@'); n >= 0 {
		user := authority[:n:n]
		if !validUserinfo(user) {
			return ErrorInvalidURI
		}
		u.username = user
		if i := bytes.IndexByte(user, ':'); i >= 0 {
			u.username, u.password = user[:i:i], user[i+1:]
		}
		authority = authority[n+1:]
	}
	return u.lowerHost(authority[:len(authority):len(authority)])
}

var slash = []byte{'/'}

// splitAuthority cuts scheme and authority off b, and sets the scheme.
//
//	[ scheme ":" ] "//" authority  followed by "/", "?", "#" or the end
func (u *URI) splitAuthority(b []byte) (authority, rest []byte, ok bool, err error) {
	if len(b) == 0 {
		return nil, b, false, nil
	}
	from := 0
	if b[0] == '/' {
		if len(u.host) > 0 || len(b) < 2 || b[1] != '/' {
			return nil, b, false, nil
		}
		from = 2
	} else {
		n := bytes.IndexAny(b, ":/?#")
		if n < 0 || b[n] != ':' {
			return nil, b, false, nil
		}
		if len(b) < n+3 || b[n+1] != '/' || b[n+2] != '/' {
			// "http:\\evil" and the like: browsers read the authority "evil"
			// there. Otherwise the colon belongs to the path.
			if len(b) > n+1 && validScheme(b[:n]) && (b[n+1] == '\\' || b[n+1] == '/' && len(b) > n+2 && b[n+2] == '\\') {
				return nil, b, false, ErrorInvalidURI
			}
			return nil, b, false, nil
		}
		if !validScheme(b[:n]) {
			return nil, b, false, fmt.Errorf("invalid scheme %q", b[:n])
		}
		u.scheme = b[:n:n]
		bytesconv.LowerInPlace(u.scheme)
		from = n + 3
	}
	end := from
	for end < len(b) && b[end] != '/' && b[end] != '?' && b[end] != '#' {
		end++
	}
	return b[from:end:end], b[end:], true, nil
}

// validScheme checks ALPHA *( ALPHA / DIGIT / "+" / "-" / "." ), RFC 3986
// section 3.1.
func validScheme(b []byte) bool {
	for i, c := range b {
		switch c = bytesconv.Lower[c]; {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return len(b) > 0
}

// Classes of bytes in a target, for setTarget.
const (
	targetPlain   = iota
	targetSlash   // "/": look at what follows
	targetChange  // "%" and "\": normalising may change the path
	targetEnd     // "?" and "#": the part ends here
	targetControl // never allowed
)

var targetClass = func() (t [256]uint8) {
	for i := range 256 {
		if !notControl[i] {
			t[i] = targetControl
		}
	}
	t['/'], t['%'], t['\\'] = targetSlash, targetChange, targetChange
	t['?'], t['#'] = targetEnd, targetEnd
	return t
}()

// setTarget splits path [ "?" query ] [ "#" hash ], which lies in the arena,
// and reports whether it has no control characters. It notices when the path
// is normal already: then nothing needs to be made for Path.
func (u *URI) setTarget(b []byte) bool {
	normal := len(b) > 0 && b[0] == '/'
	i := 0
path:
	for ; i < len(b); i++ {
		switch targetClass[b[i]] {
		case targetPlain:
		case targetSlash:
			if i+1 < len(b) && (b[i+1] == '/' || b[i+1] == '.') {
				normal = false
			}
		case targetChange:
			normal = false
		case targetEnd:
			break path
		case targetControl:
			return false
		}
	}
	u.original = b[:i:i]
	u.path, u.pathDone = u.original, normal
	u.query, u.hash, u.argsDone = nil, nil, false
	if i < len(b) && b[i] == '?' {
		i++
		from := i
		for i < len(b) && b[i] != '#' {
			if targetClass[b[i]] == targetControl {
				return false
			}
			i++
		}
		u.query = b[from:i:i]
	}
	if i < len(b) { // "#"
		u.hash = b[i+1:]
		for _, c := range u.hash {
			if targetClass[c] == targetControl {
				return false
			}
		}
		u.hash = u.hash[:len(u.hash):len(u.hash)]
	}
	return true
}

// Update changes u to what the reference newURI means, as a browser at u would
// follow a link (RFC 3986 section 5.2):
//
//   - scheme://...: newURI replaces u.
//   - //authority...: newURI replaces all but the scheme.
//   - /path...: newURI replaces path, query and hash.
//   - path...: the same, but the path replaces what follows the last "/" of
//     u's path.
//   - ?query...: newURI replaces query and hash.
//   - #hash: newURI replaces the hash.
//
// Nothing changes if newURI is empty or invalid. Unlike with fasthttp, an
// invalid authority is never taken over.
func (u *URI) Update(newURI string) { u.UpdateBytes(bytesconv.S2B(newURI)) }

// UpdateBytes is [URI.Update] for bytes.
func (u *URI) UpdateBytes(newURI []byte) {
	if len(newURI) == 0 {
		return
	}
	next := AcquireURI()
	defer ReleaseURI(next)
	if err := next.parse(nil, newURI, false); err != nil {
		return
	}
	switch {
	case len(next.scheme) > 0 || bytes.HasPrefix(newURI, doubleSlash):
		if len(next.host) == 0 {
			return // RFC 9110 section 4.2.1
		}
		if len(next.scheme) == 0 {
			next.scheme = next.store(u.Scheme())
		}
		next.DisablePathNormalizing = u.DisablePathNormalizing
		next.CopyTo(u)
		return
	case newURI[0] == '#':
		u.hash = u.store(next.hash)
		return
	case newURI[0] == '?':
	case newURI[0] == '/':
		u.SetPathBytes(next.original)
	default:
		// What is joined is encoded, so that nothing is decoded twice.
		base := u.Path()
		n := len(u.buf)
		u.buf = bytesconv.AppendEscaped(u.buf, base[:bytes.LastIndexByte(base, '/')+1], &bytesconv.PathSafe)
		u.buf = append(u.buf, next.original...)
		u.original = u.buf[n:len(u.buf):len(u.buf)]
		u.path, u.pathDone = nil, false
	}
	u.query, u.hash, u.argsDone = u.store(next.query), u.store(next.hash), false
}

var doubleSlash = []byte("//")
