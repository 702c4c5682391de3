package bytesconv

import (
	"slices"
	"testing"
)

func TestNextElement(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"a,b", []string{"a", "b"}},
		{" a\t , b c ,", []string{"a", "b c"}},
		{",,a", []string{"", "", "a"}},
		{" , ", []string{"", ""}},
	} {
		var got []string
		for list := []byte(tt.in); len(list) > 0; {
			var elem []byte
			elem, list = NextElement(list)
			got = append(got, string(elem))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q has the elements %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestElements(t *testing.T) {
	for _, tt := range []struct {
		lines, want []string
	}{
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"", " , "}, nil},
		{[]string{"a, B"}, []string{"a", "B"}},
		{[]string{"a", "B"}, []string{"a", "B"}},
		{[]string{"", "a,", ",, \tB\t"}, []string{"a", "B"}},
	} {
		var lines [][]byte
		for _, l := range tt.lines {
			lines = append(lines, []byte(l))
		}
		var got []string
		for e := range Elements(lines) {
			got = append(got, string(e))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("the lines %q have the elements %q, want %q", tt.lines, got, tt.want)
		}
		if has := HasElement(lines, "b"); has != (len(tt.want) > 0) {
			t.Errorf("the lines %q have b: %v", tt.lines, has)
		}
	}
}
