package gale

import (
	"errors"
	"strconv"

	"github.com/galehttp/gale/internal/bytesconv"
)

// AppendUint appends n in decimal to dst and returns the extended slice.
// It panics if n is negative.
func AppendUint(dst []byte, n int) []byte {
	if n < 0 {
		panic("BUG: int must be positive")
	}
	return bytesconv.AppendInt(dst, n)
}

// ParseUint returns the number that the decimal digits of buf stand for.
// Leading zeros are allowed, signs and spaces are not. The result is -1 with an
// error if buf is empty, has other bytes than digits, or means a number that
// doesn't fit in an int.
func ParseUint(buf []byte) (int, error) { return bytesconv.ParseUint(buf) }

var errNegativeFloat = errors.New("negative input is invalid")

// ParseUfloat returns the number of 0 or more that buf stands for, in decimal
// digits with an optional fraction and exponent, such as "12", "1.5" or "1e-3".
// The result is -1 with an error for anything else; the error is a
// *strconv.NumError unless it is about a minus sign.
//
// Unlike fasthttp, it refuses "NaN", "Inf" and underscores between digits:
// none of them is a number a client should be able to send.
func ParseUfloat(buf []byte) (float64, error) {
	if len(buf) > 0 && buf[0] == '-' {
		return -1, errNegativeFloat
	}
	for _, c := range buf {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return -1, &strconv.NumError{Func: "ParseFloat", Num: string(buf), Err: strconv.ErrSyntax}
		}
	}
	f, err := strconv.ParseFloat(bytesconv.B2S(buf), 64)
	if err != nil {
		return -1, err // it holds a copy of buf
	}
	return f, nil
}
