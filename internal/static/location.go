package static

// AppendLocation appends the reference for the redirect from a folder's path
// without a slash at the end to the path with one: path, percent-encoded, and "/".
// path is decoded; query is the raw query without "?", or empty.
//
// Separators at the start become a single slash, so that a path such as "//host/x"
// or "/\host" can't be read as another site (RFC 3986 section 4.2).
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

// AppendEscapedPath appends path, escaped for a URI reference (RFC 3986 section
// 3.3). Unreserved characters, "/", and other characters that need no escape in any
// segment stay.
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

// plainInPath is false for ":", which would turn the first segment of a relative
// reference into a scheme, and for characters that HTML or a shell might misread.
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
