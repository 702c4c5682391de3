package bytesconv

import (
	"errors"
	"math"
	"strconv"
)

// The errors of ParseUint and ParseUintPrefix. Their texts are those of
// fasthttp, since users match on them.
var (
	ErrEmptyInt     = errors.New("empty integer")
	ErrFirstChar    = errors.New("unexpected first char found: expecting 0-9")
	ErrTrailingChar = errors.New("unexpected trailing char found: expecting 0-9")
	ErrIntTooLarge  = errors.New("too long int")
)

// AppendInt appends n in decimal.
func AppendInt(dst []byte, n int) []byte {
	switch u := uint(n); {
	case u < 10:
		return append(dst, '0'+byte(u))
	case u < 100:
		return append(dst, '0'+byte(u/10), '0'+byte(u%10))
	case u < 1000:
		return append(dst, '0'+byte(u/100), '0'+byte(u/10%10), '0'+byte(u%10))
	}
	return strconv.AppendInt(dst, int64(n), 10)
}

// AppendHex appends n in hex: lower-case digits, no prefix, no leading zeros.
func AppendHex(dst []byte, n uint64) []byte {
	return strconv.AppendUint(dst, n, 16)
}

// ParseUint returns the number that the decimal digits of b stand for. Leading
// zeros are allowed; signs, spaces and an empty b are not. On an error it
// returns -1 with ErrEmptyInt, ErrTrailingChar, or, if the number doesn't fit
// in an int, ErrIntTooLarge.
func ParseUint(b []byte) (int, error) {
	if len(b) == 0 {
		return -1, ErrEmptyInt
	}
	v := 0
	for i, c := range b {
		c -= '0'
		if c > 9 {
			return -1, ErrTrailingChar
		}
		if i < safeDigits {
			v = v*10 + int(c)
			continue
		}
		if v > (math.MaxInt-int(c))/10 {
			return -1, ErrIntTooLarge
		}
		v = v*10 + int(c)
	}
	return v, nil
}

// safeDigits is how many digits always fit in an int.
const safeDigits = 9 + 9*int(^uint(0)>>63)

// ParseUintPrefix reads the decimal digits that b begins with. It returns
// their value and how many they are. Without a digit the error is ErrEmptyInt
// or ErrFirstChar; a number that doesn't fit in an int is ErrIntTooLarge; the
// value is -1 then.
func ParseUintPrefix(b []byte) (v, n int, err error) {
	if len(b) == 0 {
		return -1, 0, ErrEmptyInt
	}
	for n < len(b) {
		d := int(b[n]) - '0'
		if d < 0 || d > 9 {
			break
		}
		if v > (math.MaxInt-d)/10 {
			return -1, n, ErrIntTooLarge
		}
		v = v*10 + d
		n++
	}
	if n == 0 {
		return -1, 0, ErrFirstChar
	}
	return v, n, nil
}
