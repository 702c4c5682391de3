package static

// AppendLocation appends the reference that leads from a folder asked for
// without a slash at the end to the one with it: path, percent-encoded, and
// "/". path is decoded; query is the raw query without "?", or empty.
//
// Separators at the front are made a single slash, so that a path like
// "//host/x" or "/\host" can't be taken for another site (RFC 3986 section 4.2).
func AppendLocation(dst, path, query []byte) []byte {
	for len(path) > 0 && (path[0] == '/' || path[0] == '\\') {
		path = path[1:]
	}
	dst = AppendEscapedPath(append(dst, '/'), path)
	if dst[len(dst)-1] != '/' {
		dst = append(dst, '/')
	}
	if len(query) > 0 {
		dst = append(append(dst, '?'), query...)
	}
	return dst
}

// AppendEscapedPath appends path as it may stand in a URI reference (RFC 3986 section
// 3.3): unreserved characters, "/", and the others that need no escape in any segment stay.
func AppendEscapedPath(dst, path []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range path {
		if plainInPath(c) {
			dst = append(dst, c)
			continue
		}
		dst = append(dst, '%', hex[c>>4], hex[c&15])
	}
	return dst
}

// plainInPath leaves out ":", which would make a scheme of the first segment
// of a relative reference, and what HTML or a shell might trip over.
func plainInPath(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '-', '.', '_', '~', '/', '$', '+', ',', '=', '@':
		return true
	}
	return false
}
