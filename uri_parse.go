package gale

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Parse sets u to the URI that uri means, given host:
//
//   - scheme://authority/path?query#hash: the host is that of the authority; the
//     argument host is ignored.
//   - //authority/path..., if host is empty: the scheme is "http". If host isn't
//     empty, this is a path, unless it contains "://", as in fasthttp.
//   - Anything else: path, query and hash on host, as in a request line. The path
//     needn't begin with "/".
//
// host is a host with an optional port and may be empty. Hosts must follow the
// grammar of RFC 3986 section 3.2.2, with two differences: commas and
// percent-encoded ASCII are not allowed; raw and percent-encoded UTF-8 is allowed.
// An authority may have a username and password before the host, which are decoded; the
// argument host may not.
//
// The error is, or wraps, [ErrorInvalidURI], an [InvalidHostError] or an
// [EscapeError], or it says what is wrong with the scheme or the host. After an
// error u is empty. Control characters are errors everywhere. So is an http or
// https URI whose authority has no host (RFC 9110 section 4.2.1), such as
// "http://:80/".
func (u *URI) Parse(host, uri []byte) error {
	used(u.loan)
	// Both may be parts of u, which parse overwrites.
	if bytesconv.Overlaps(u.buf, uri) {
		uri = bytes.Clone(uri)
	}
	if bytesconv.Overlaps(u.buf, host) {
		host = bytes.Clone(host)
	}
	return u.parse(host, uri, false, false)
}

// parseTarget is Parse for the target of a request: a target that begins with "//" is a
// path on host (RFC 9112 section 3.2.1). host and target must not be parts of u.
func (u *URI) parseTarget(host, target []byte) error {
	return u.parse(host, target, false, true)
}

// parse is Parse with "https" as the scheme if uri has none and isTLS is set. host
// and uri must not be parts of u.
func (u *URI) parse(host, uri []byte, isTLS, received bool) error {
	u.Reset()
	had := cap(u.buf)
	known := u.validHost == len(host) && bytes.Equal(u.buf, host)
	if !known {
		u.buf, u.validHost = append(u.buf[:0], host...), 0
	}
	if len(uri) > maxURIArena-len(host) {
		return ErrorInvalidURI
	}
	u.buf = append(u.buf, uri...)
	u.own(had)

	if err := u.parseParts(len(host), known, received); err != nil {
		u.Reset()
		return err
	}
	if isTLS && u.scheme.empty() {
		u.scheme = u.store(bytesconv.S2B("https"))
	}
	return nil
}

// parseParts finds the parts of the reference that is in the arena from at on.
// Before it is the host that counts if the reference has none. hostKnown says that
// this host is valid and in lower case, received that "//" doesn't introduce a
// host.
func (u *URI) parseParts(at int, hostKnown, received bool) error {
	authority, rest, err := u.splitAuthority(at, received)
	if err != nil {
		return err
	}
	if !u.setTarget(rest) {
		return ErrorInvalidURI
	}
	if authority < 0 {
		u.host = uriPart{0, uint32(at)}
		if hostKnown {
			return nil
		}
		if err := u.lowerHost(0, at); err != nil {
			return err
		}
		if u.host == (uriPart{0, uint32(at)}) {
			u.validHost = at
		}
		return nil
	}
	if rest == len(u.buf) {
		u.original = u.store(slash)
	}
	if n := bytes.LastIndexByte(u.buf[authority:rest], '@'); n >= 0 {
		if !u.setUserinfo(authority, authority+n) {
			return ErrorInvalidURI
		}
		authority += n + 1
	}
	if (authority == rest || u.buf[authority] == ':') && u.isHTTP() {
		return errNoHost()
	}
	return u.lowerHost(authority, rest)
}

func errNoHost() error {
	return fmt.Errorf("%w: it names no host, as http://example.com/ does", ErrorInvalidURI)
}

// isHTTP reports whether the scheme of u is http or https: such a URI must have a
// host (RFC 9110 section 4.2.1).
func (u *URI) isHTTP() bool { return isHTTPScheme(u.part(u.scheme)) }

var (
	slash     = []byte{'/'}
	schemeEnd = []byte("://")
)

// setUserinfo sets username and password to parts of the arena, which it decodes there.
func (u *URI) setUserinfo(from, end int) bool {
	if !validUserinfo(u.buf[from:end]) {
		return false
	}
	u.userParsed = true
	if i := bytes.IndexByte(u.buf[from:end], ':'); i >= 0 {
		u.password = u.decodedPart(from+i+1, end)
		end = from + i
	}
	u.username = u.decodedPart(from, end)
	return true
}

// decodedPart decodes percent-escapes in the arena between from and end.
func (u *URI) decodedPart(from, end int) uriPart {
	n := bytesconv.Unescape(u.buf[from:end])
	return uriPart{uint32(from), uint32(from + n)}
}

// splitAuthority returns where the authority of the reference in the arena
// begins and ends, and sets the scheme:
//
//	[ scheme ":" ] "//" authority  followed by "/", "?", "#" or the end
//
// Without an authority, the first result is -1 and the second is at. If received is
// true, there must be a scheme before the authority.
func (u *URI) splitAuthority(at int, received bool) (authority, rest int, err error) {
	b := u.buf[at:]
	if len(b) == 0 {
		return -1, at, nil
	}
	from := 2
	switch {
	case len(b) > 7 && string(b[:7]) == "http://":
		u.scheme = uriPart{uint32(at), uint32(at + 4)}
		from = 7
	case len(b) > 8 && string(b[:8]) == "https://":
		u.scheme = uriPart{uint32(at), uint32(at + 5)}
		from = 8
	case b[0] == '/':
		if received || at > 0 && !bytes.Contains(b, schemeEnd) || len(b) < 2 || b[1] != '/' {
			return -1, at, nil
		}
	default:
		n := bytes.IndexAny(b, ":/?#")
		if n < 0 || b[n] != ':' {
			return -1, at, nil
		}
		if len(b) < n+3 || b[n+1] != '/' || b[n+2] != '/' {
			// Browsers read the authority "evil" in "http:\\evil" and similar
			// references. Otherwise the colon belongs to the path.
			if len(b) > n+1 && validScheme(b[:n]) && (b[n+1] == '\\' || b[n+1] == '/' && len(b) > n+2 && b[n+2] == '\\') {
				return -1, at, ErrorInvalidURI
			}
			return -1, at, nil
		}
		if !validScheme(b[:n]) {
			if slices.ContainsFunc(b[:n], func(c byte) bool { return !notControl[c] }) {
				return -1, at, ErrorInvalidURI
			}
			return -1, at, errorf("invalid scheme %q", b[:n])
		}
		bytesconv.LowerInPlace(b[:n])
		u.scheme = uriPart{uint32(at), uint32(at + n)}
		from = n + 3
	}
	end := from
	for end < len(b) && pathClass[b[end]]&(targetSlash|targetEnd) == 0 {
		end++
	}
	return at + from, at + end, nil
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
	targetSlash   = 1 << iota // "/": the next byte matters
	targetChange              // "%" and "\": normalising may change the path
	targetEscape              // written as %XX
	targetEnd                 // the part ends here
	targetControl             // never allowed
)

var pathClass, queryClass = func() (path, query [256]uint8) {
	for i := range 256 {
		switch {
		case !notControl[i]:
			path[i], query[i] = targetControl, targetControl
			continue
		case !bytesconv.PathSafe[i]:
			path[i] = targetEscape
		}
		if !querySafe[i] {
			query[i] = targetEscape
		}
	}
	path['/'], path['%'], path['\\'] = targetSlash, targetChange, targetChange
	path['?'], path['#'], query['#'] = targetEnd, targetEnd, targetEnd
	return
}()

// setTarget splits path [ "?" query ] [ "#" hash ], which is in the arena from at
// on, and reports whether it has no control characters. It notes which parts are in
// normal form already, so that Path and RequestURI don't have to make them.
func (u *URI) setTarget(at int) bool {
	b := u.buf[at:]
	i, seen := len(b), uint8(0)
	for j, c := range b {
		class := pathClass[c]
		if class == 0 {
			continue
		}
		if class&(targetEnd|targetControl) != 0 {
			i = j
			break
		}
		seen |= class
		if next := j + 1; class == targetSlash && next < len(b) && (b[next] == '/' || b[next] == '.') {
			seen |= targetChange
		}
	}
	u.original = uriPart{uint32(at), uint32(at + i)}
	u.path = u.original
	u.pathDone = i > 0 && b[0] == '/' && seen&targetChange == 0
	u.pathPlain = u.pathDone && seen&targetEscape == 0
	if i < len(b) && b[i] == '?' {
		from := i + 1
		i, seen = len(b), 0
		for j, c := range b[from:] {
			class := queryClass[c]
			if class == 0 {
				continue
			}
			if class != targetEscape {
				i = from + j
				break
			}
			seen |= class
		}
		u.query = uriPart{uint32(at + from), uint32(at + i)}
		u.queryPlain = seen == 0
	}
	if i < len(b) && b[i] == '#' {
		from := i + 1
		for i = from; i < len(b) && notControl[b[i]]; {
			i++
		}
		u.hash = uriPart{uint32(at + from), uint32(at + i)}
	}
	return i == len(b)
}

// Update changes u to the URI that the reference newURI means, as a browser follows
// a link on a page at u (RFC 3986 section 5.2):
//
//   - scheme://...: newURI replaces u.
//   - //authority...: newURI replaces everything except the scheme.
//   - /path...: newURI replaces path, query and hash.
//   - path...: the same, but the path replaces only the text after the last "/" of
//     u's path.
//   - ?query...: newURI replaces query and hash. Under fasthttp's name, the hash stays if
//     newURI has none, as in fasthttp.
//   - #hash: newURI replaces the hash.
//   - scheme:... without "//", if the scheme is that of u: as one of the above, without
//     "scheme:".
//
// Leading spaces are ignored. Nothing changes if newURI is empty.
//
// If newURI is invalid, u becomes empty, as with Parse. If u kept its host, a
// program that checks the host afterwards would treat newURI as a reference to that
// host. Send the changed u to a client, not newURI: what newURI means depends on the
// scheme that the client sees. Update refuses what Parse refuses, and also references that
// browsers may read as the address of another host: an authority without a host
// ("///evil"), an authority after a backslash ("/\evil"), and another scheme without an
// authority ("https:evil" in an http URI, "mailto:a@b"). In fasthttp all of these are
// paths.
func (u *URI) Update(newURI string) { u.UpdateBytes(bytesconv.S2B(newURI)) }

// UpdateBytes is [URI.Update] for bytes.
func (u *URI) UpdateBytes(newURI []byte) { _ = u.UpdateBytesErr(newURI) }

// UpdateBytesErr is [URI.UpdateBytes], and returns the error of an invalid newURI:
// that of [URI.Parse], or [ErrorInvalidURI] for a reference that only Update refuses.
func (u *URI) UpdateBytesErr(newURI []byte) error {
	used(u.loan)
	err := u.update(newURI)
	if err != nil {
		u.Reset()
	}
	return err
}

// update is UpdateBytesErr, but if newURI is invalid, it returns the error and leaves
// u unchanged.
func (u *URI) update(newURI []byte) error {
	newURI = bytes.TrimLeft(newURI, " ")
	if scheme := bareScheme(newURI); scheme != nil && bytes.EqualFold(scheme, u.Scheme()) {
		newURI = newURI[len(scheme)+1:] // RFC 3986 section 5.2.2; browsers do the same
	}
	if len(newURI) == 0 {
		return nil
	}
	if looksElsewhere(newURI) {
		return ErrorInvalidURI
	}
	next := uriPool.Get().(*URI)
	defer ReleaseURI(next)
	if err := next.parse(nil, newURI, false, false); err != nil {
		return err
	}
	switch {
	case !next.scheme.empty() || bytes.HasPrefix(newURI, doubleSlash):
		if next.host.empty() {
			return ErrorInvalidURI // RFC 9110 section 4.2.1
		}
		if next.buf[next.host.off] == ':' {
			return errNoHost()
		}
		if next.scheme.empty() {
			next.scheme = next.store(u.Scheme())
		}
		next.DisablePathNormalizing, next.keepsSlash, next.routed = u.DisablePathNormalizing, u.keepsSlash, u.routed
		next.CopyTo(u)
		return nil
	case newURI[0] == '#':
		u.hash = u.store(next.Hash())
		return nil
	case newURI[0] == '?':
	case newURI[0] == '/':
		u.SetPathBytes(next.PathOriginal())
	default:
		u.mergePath(next.PathOriginal())
	}
	u.query = u.store(next.QueryString())
	if newURI[0] != '?' || !updateKeepsHash || bytes.IndexByte(newURI, '#') >= 0 {
		u.hash = u.store(next.Hash())
	}
	u.queryPlain, u.argsDone = false, false
	return nil
}

// mergePath replaces what follows the last "/" of the path (RFC 3986 section 5.2.3). The joined path is
// encoded, so that nothing is decoded twice.
func (u *URI) mergePath(ref []byte) {
	u.Path() // makes it before the arena grows
	n, had := len(u.buf), cap(u.buf)
	u.buf = u.appendEscapedPath(u.buf)
	u.buf = append(u.buf[:bytes.LastIndexByte(u.buf, '/')+1], ref...)
	u.own(had)
	u.original = u.partOf(n)
	u.path, u.pathDone, u.pathPlain = uriPart{}, false, false
}

// looksElsewhere reports whether a reference that has no authority by RFC 3986 may
// still lead to another host. Browsers read a backslash as "/", and the text after
// another scheme as an authority if it is "http:" or "https:"; other schemes have no host.
func looksElsewhere(ref []byte) bool {
	if len(ref) > 1 && (ref[0] == '\\' && (ref[1] == '\\' || ref[1] == '/') || ref[0] == '/' && ref[1] == '\\') {
		return true
	}
	return bareScheme(ref) != nil
}

// bareScheme returns the scheme of a reference that has one and no authority, such as
// "mailto:a@b", else nil.
func bareScheme(ref []byte) []byte {
	scheme := schemeOf(ref)
	if scheme != nil && bytes.HasPrefix(ref[len(scheme)+1:], doubleSlash) {
		return nil
	}
	return scheme
}

// schemeOf returns the scheme of a reference, nil if it has none.
func schemeOf(ref []byte) []byte {
	if n := bytes.IndexAny(ref, ":/?#"); n > 0 && ref[n] == ':' && validScheme(ref[:n]) {
		return ref[:n]
	}
	return nil
}

// isHTTPScheme reports whether scheme is "http" or "https", in any case.
func isHTTPScheme(scheme []byte) bool {
	return bytesconv.EqualFoldString(scheme, "http") || bytesconv.EqualFoldString(scheme, "https")
}

var doubleSlash = []byte("//")
