package gale

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Programs may match on the texts of these errors: they are fasthttp's.
var errTrailingChar = errors.New("unexpected trailing char found: expecting 0-9")

func parseByteRange(field []byte, size int) (start, end int, err error) {
	const unit = "bytes"
	if !bytes.HasPrefix(field, []byte(unit)) {
		return 0, 0, fmt.Errorf("unsupported range units: %q: expecting %q", field, unit)
	}
	set := field[len(unit):]
	if len(set) == 0 || set[0] != '=' {
		return 0, 0, fmt.Errorf("missing byte range in %q", field)
	}
	set = set[1:]
	dash := bytes.IndexByte(set, '-')
	if dash < 0 {
		return 0, 0, fmt.Errorf("missing the end position of byte range in %q", field)
	}
	if dash == 0 {
		return parseSuffixRange(field, set[1:], size)
	}
	if start, err = parsePosition(set[:dash]); err != nil {
		return 0, 0, err
	}
	if start >= size {
		return 0, 0, fmt.Errorf("the start position of byte range cannot exceed %d. byte range %q", size-1, field)
	}
	if dash+1 == len(set) {
		return start, size - 1, nil
	}
	if end, err = parsePosition(set[dash+1:]); err != nil {
		return 0, 0, err
	}
	end = min(end, size-1)
	if start > end {
		return 0, 0, fmt.Errorf("the start position of byte range cannot exceed the end position. byte range %q", field)
	}
	return start, end, nil
}

func parseSuffixRange(field, suffix []byte, size int) (start, end int, err error) {
	n, err := parsePosition(suffix)
	if err != nil {
		return 0, 0, err
	}
	if n == 0 {
		return 0, 0, fmt.Errorf("suffix length in byte range %q must be greater than zero", field)
	}
	if size <= 0 {
		return 0, 0, fmt.Errorf("byte range %q is invalid for empty content", field)
	}
	return max(size-n, 0), size - 1, nil
}

func parsePosition(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errors.New("empty integer")
	}
	n, err := bytesconv.ParseUint(b)
	if err != nil {
		return 0, errTrailingChar
	}
	return n, nil
}
