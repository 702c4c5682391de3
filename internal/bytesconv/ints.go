package bytesconv

import (
	"errors"
	"math"
	"math/bits"
	"slices"
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
func AppendInt[T int | int64](dst []byte, n T) []byte {
	switch u := uint64(n); {
	case u < 10:
		return append(dst, '0'+byte(u))
	case u < 100:
		return append(dst, '0'+byte(u/10), '0'+byte(u%10))
	case u < 1000:
		return append(dst, '0'+byte(u/100), '0'+byte(u/10%10), '0'+byte(u%10))
	}
	if n < 0 {
		return strconv.AppendInt(dst, int64(n), 10)
	}
	return appendDigits(dst, uint64(n))
}

// appendDigits writes the digits directly to their place, two at a time from the
// last. strconv makes them in another buffer and copies them.
func appendDigits(dst []byte, u uint64) []byte {
	// The number of digits is log10 of the next power of two, with 1233/4096 for
	// log10(2), and one more if u reaches that power of ten.
	n := bits.Len64(u|1) * 1233 >> 12
	if u >= powersOfTen[n] {
		n++
	}
	end := len(dst) + n
	if end > cap(dst) {
		dst = slices.Grow(dst, n)
	}
	dst = dst[:end]
	for u >= 100 {
		q := u / 100
		r := (u - q*100) * 2
		dst[end-2], dst[end-1] = digitPairs[r], digitPairs[r+1]
		end -= 2
		u = q
	}
	if u >= 10 {
		dst[end-2], dst[end-1] = digitPairs[u*2], digitPairs[u*2+1]
	} else {
		dst[end-1] = '0' + byte(u)
	}
	return dst
}

const digitPairs = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

var powersOfTen = func() (p [20]uint64) {
	for i, v := 0, uint64(1); i < len(p); i++ {
		p[i] = v
		v *= 10
	}
	return
}()

// AppendHex appends n in hex: lower-case digits, no prefix, no leading zeros.
func AppendHex(dst []byte, n uint64) []byte {
	return strconv.AppendUint(dst, n, 16)
}

// ParseUint returns the number that b holds in decimal digits. Leading zeros are
// allowed; signs, spaces and an empty b are not. On an error it returns -1 with
// ErrEmptyInt, ErrTrailingChar, or, if the number doesn't fit in an int,
// ErrIntTooLarge.
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

// ParseUintPrefix reads the decimal digits that b begins with. It returns their
// value and their number. Without a digit the error is ErrEmptyInt or ErrFirstChar.
// If the number doesn't fit in an int, it is ErrIntTooLarge. On an error the value
// is -1.
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
