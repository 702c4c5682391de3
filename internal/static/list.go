package static

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
)

// cutElement splits off the first element of a comma-separated list, without the
// white space around it. more says whether a comma followed. Elements may be empty,
// which a recipient must accept (RFC 9110 section 5.6.1.2).
func cutElement(list []byte) (element, rest []byte, more bool) {
	i := bytes.IndexByte(list, ',')
	if i < 0 {
		return bytesconv.TrimOWS(list), nil, false
	}
	return bytesconv.TrimOWS(list[:i]), list[i+1:], true
}
