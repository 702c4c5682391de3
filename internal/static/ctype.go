package static

import (
	"mime"
	"net/http"
	"strings"
)

// SniffLen is how many bytes of a file SniffType looks at.
const SniffLen = 512

// TypeByName returns the media type (RFC 9110 section 8.3.1) for a file by the
// extension of its name, or "" if the extension is unknown. The common types of the
// web come from a table in this package, so that they don't depend on the system.
// Others come from package mime.
func TypeByName(name string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || strings.IndexByte(name[dot:], '/') >= 0 {
		return ""
	}
	ext := strings.ToLower(name[dot:])
	if t, ok := webTypes[ext]; ok {
		return t
	}
	return mime.TypeByExtension(ext)
}

// SniffType guesses the media type from the first bytes of a file.
func SniffType(head []byte) string {
	return http.DetectContentType(head)
}

const charset = "; charset=utf-8"

var webTypes = map[string]string{
	".html": "text/html" + charset, ".htm": "text/html" + charset, ".xhtml": "application/xhtml+xml",
	".css": "text/css" + charset, ".js": "text/javascript" + charset, ".mjs": "text/javascript" + charset, ".cjs": "text/javascript" + charset,
	".json": "application/json", ".map": "application/json", ".jsonld": "application/ld+json", ".geojson": "application/geo+json",
	".webmanifest": "application/manifest+json", ".wasm": "application/wasm",
	".txt": "text/plain" + charset, ".text": "text/plain" + charset, ".log": "text/plain" + charset, ".md": "text/markdown" + charset, ".markdown": "text/markdown" + charset,
	".csv": "text/csv" + charset, ".tsv": "text/tab-separated-values" + charset, ".ics": "text/calendar" + charset, ".vcf": "text/vcard" + charset, ".vtt": "text/vtt" + charset,
	".xml": "text/xml" + charset, ".xsl": "text/xml" + charset, ".rss": "application/rss+xml", ".atom": "application/atom+xml",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml", ".go": "text/plain" + charset,

	".svg": "image/svg+xml", ".png": "image/png", ".apng": "image/apng", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".avif": "image/avif", ".ico": "image/x-icon", ".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".heic": "image/heic", ".jxl": "image/jxl",

	".mp4": "video/mp4", ".m4v": "video/mp4", ".webm": "video/webm", ".ogv": "video/ogg", ".mov": "video/quicktime", ".mkv": "video/matroska", ".avi": "video/x-msvideo",
	".m3u8": "application/vnd.apple.mpegurl", ".mpd": "application/dash+xml", ".m4s": "video/iso.segment",
	".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".aac": "audio/aac", ".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg", ".wav": "audio/wav", ".flac": "audio/flac", ".weba": "audio/webm", ".mid": "audio/midi", ".midi": "audio/midi",

	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf", ".ttc": "font/collection", ".eot": "application/vnd.ms-fontobject",

	".pdf": "application/pdf", ".rtf": "application/rtf", ".epub": "application/epub+zip",
	".zip": "application/zip", ".gz": "application/gzip", ".tgz": "application/gzip", ".bz2": "application/x-bzip2", ".xz": "application/x-xz", ".zst": "application/zstd", ".br": "application/x-brotli",
	".tar": "application/x-tar", ".7z": "application/x-7z-compressed", ".rar": "application/vnd.rar", ".jar": "application/java-archive",
	".bin": "application/octet-stream", ".exe": "application/octet-stream", ".dll": "application/octet-stream", ".iso": "application/octet-stream", ".dmg": "application/octet-stream", ".deb": "application/vnd.debian.binary-package",
	".swf": "application/x-shockwave-flash", ".torrent": "application/x-bittorrent", ".p7m": "application/pkcs7-mime", ".crt": "application/x-x509-ca-cert", ".pem": "application/x-pem-file",
}

// Compressible reports whether files of that media type get smaller by a content
// coding: text, formats that are written as text, and the few binary formats that
// aren't compressed already.
func Compressible(contentType string) bool {
	if i := strings.IndexByte(contentType, ';'); i >= 0 {
		contentType = contentType[:i]
	}
	contentType = strings.TrimSpace(contentType)
	if strings.HasPrefix(contentType, "text/") || strings.HasSuffix(contentType, "+json") || strings.HasSuffix(contentType, "+xml") {
		return true
	}
	switch contentType {
	case "application/json", "application/javascript", "application/xml", "application/wasm", "application/yaml", "application/toml", "application/rtf",
		"application/x-javascript", "application/x-sh", "application/x-tar", "application/vnd.apple.mpegurl", "application/vnd.ms-fontobject",
		"application/x-pem-file", "application/sql", "application/graphql", "application/x-ndjson",
		"font/ttf", "font/otf", "font/collection", "image/bmp", "image/x-icon", "image/x-ms-bmp", "audio/midi", "audio/wav":
		return true
	}
	return false
}
