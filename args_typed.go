package gale

import "github.com/galehttp/gale/internal/bytesconv"

// GetUint returns the value of the first argument with the key as a number of 0 or
// more. On an error the result is -1. The error is [ErrNoArgValue] if there is no
// value, and the error of [ParseUint] if the value isn't a number.
func (a *Args) GetUint(key string) (int, error) {
	used(a.list.Loan)
	value := a.Peek(key)
	if len(value) == 0 {
		return -1, ErrNoArgValue
	}
	return ParseUint(value)
}

// GetUintOrZero is [Args.GetUint] that returns 0 on an error.
func (a *Args) GetUintOrZero(key string) int {
	n, err := a.GetUint(key)
	if err != nil {
		return 0
	}
	return n
}

// GetUfloat returns the value of the first argument with the key as a number of 0
// or more. On an error the result is -1. The error is [ErrNoArgValue] if there is
// no value, and the error of [ParseUfloat] if the value isn't a number.
func (a *Args) GetUfloat(key string) (float64, error) {
	used(a.list.Loan)
	value := a.Peek(key)
	if len(value) == 0 {
		return -1, ErrNoArgValue
	}
	return ParseUfloat(value)
}

// GetUfloatOrZero is [Args.GetUfloat] that returns 0 on an error.
func (a *Args) GetUfloatOrZero(key string) float64 {
	f, err := a.GetUfloat(key)
	if err != nil {
		return 0
	}
	return f
}

// GetBool reports whether the value of the first argument with the key is one
// of 1, t, T, true, TRUE, True, y, Y, yes, YES and Yes.
func (a *Args) GetBool(key string) bool {
	used(a.list.Loan)
	switch string(a.Peek(key)) {
	case "1", "t", "T", "true", "TRUE", "True", "y", "Y", "yes", "YES", "Yes":
		return true
	}
	return false
}

// SetUint is [Args.Set] with value in decimal. It panics if value is negative.
func (a *Args) SetUint(key string, value int) {
	var digits [20]byte
	a.list.Set(key, bytesconv.B2S(AppendUint(digits[:0], value)))
}

// SetUintBytes is [Args.SetUint] with bytes as the key.
func (a *Args) SetUintBytes(key []byte, value int) { a.SetUint(bytesconv.B2S(key), value) }
