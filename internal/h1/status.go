package h1

import "github.com/galehttp/gale/internal/bytesconv"

// StatusText returns the reason phrase of a status code, "" for a code that
// has none. The texts are fasthttp's; some predate RFC 9110.
func StatusText(code int) string {
	if uint(code) >= uint(len(statusTexts)) {
		return ""
	}
	return statusTexts[code]
}

// statusLines holds the status lines of the codes that have a text, complete
// with CRLF.
var statusLines = func() (lines [len(statusTexts)]string) {
	for code, text := range statusTexts {
		if text != "" {
			lines[code] = "HTTP/1.1 " + string(bytesconv.AppendInt(nil, code)) + " " + text + "\r\n"
		}
	}
	return lines
}()

// AppendStatusLine appends "HTTP/1.1 status reason\r\n" (RFC 9112 section 4). If reason
// is empty, it writes the usual one, or "Unknown Status Code" if there is none. CR, LF
// and NUL in reason become spaces. A status outside of 100 to 999 can't be written and
// becomes 500.
func AppendStatusLine(dst []byte, status int, reason []byte) []byte {
	if len(reason) == 0 && uint(status) < uint(len(statusLines)) && statusLines[status] != "" {
		return append(dst, statusLines[status]...)
	}
	return appendStatusLine(dst, status, reason)
}

func appendStatusLine(dst []byte, status int, reason []byte) []byte {
	if status < 100 || status > 999 {
		status = 500
	}
	dst = append(dst, "HTTP/1.1 "...)
	dst = bytesconv.AppendInt(dst, status)
	dst = append(dst, ' ')
	from := len(dst)
	switch {
	case len(reason) > 0:
		dst = append(dst, reason...)
		bytesconv.NeutralizeLine(dst[from:])
	case StatusText(status) != "":
		dst = append(dst, StatusText(status)...)
	default:
		dst = append(dst, "Unknown Status Code"...)
	}
	return append(dst, "\r\n"...)
}
