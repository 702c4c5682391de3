package gale

import (
	"math"
	"testing"
)

func TestParseUfloat(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want float64
		err  string
	}{
		{"0", 0, ""}, {"1.5", 1.5, ""}, {"+1", 1, ""}, {"1e3", 1000, ""}, {"1E-3", 0.001, ""}, {"1.", 1, ""}, {".5", 0.5, ""},
		{"9999999999999999999999", 1e22, ""},
		{"", -1, `strconv.ParseFloat: parsing "": invalid syntax`},
		{"-1.5", -1, "negative input is invalid"},
		{"1e", -1, `strconv.ParseFloat: parsing "1e": invalid syntax`},
		{"1.2.3", -1, `strconv.ParseFloat: parsing "1.2.3": invalid syntax`},
		{"0x10", -1, `strconv.ParseFloat: parsing "0x10": invalid syntax`},
		{"1_0", -1, `strconv.ParseFloat: parsing "1_0": invalid syntax`},
		{"NaN", -1, `strconv.ParseFloat: parsing "NaN": invalid syntax`},
		{"inf", -1, `strconv.ParseFloat: parsing "inf": invalid syntax`},
		{"1e400", -1, `strconv.ParseFloat: parsing "1e400": value out of range`},
	} {
		got, err := ParseUfloat([]byte(tt.in))
		if got != tt.want || errorOr(err) != tt.err {
			t.Errorf("ParseUfloat(%q) = %v, %v, want %v, %q", tt.in, got, err, tt.want, tt.err)
		}
	}
}

// errorOr returns the text of err, or "" for nil.
func errorOr(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAppendUint(t *testing.T) {
	if got := string(AppendUint([]byte("n="), math.MaxInt32)); got != "n=2147483647" {
		t.Errorf("got %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("want a panic for a negative number")
		}
	}()
	AppendUint(nil, -1)
}
