package head

import "testing"

// The most specific range decides, whatever the order; what isn't a weight counts as
// nothing.
func TestAcceptWeight(t *testing.T) {
	for _, test := range []struct {
		values []string
		want   int // of application/json
	}{
		{nil, 1000},
		{[]string{""}, 0},
		{[]string{"application/json"}, 1000},
		{[]string{"Application/JSON"}, 1000},
		{[]string{"text/html"}, 0},
		{[]string{"*/*"}, 1000},
		{[]string{"*/*;q=0.1"}, 100},
		{[]string{"*/*, application/json;q=0.5"}, 500},
		{[]string{"application/json;q=0.5, */*"}, 500},
		{[]string{"application/*;q=0.25, */*;q=1"}, 250},
		{[]string{"application/*;q=0.25", "application/json;q=0.75"}, 750},
		{[]string{"application/json ; q=0.125"}, 125},
		{[]string{"application/json;q=0"}, 0},
		{[]string{"application/json;Q=1.000"}, 1000},
		{[]string{"application/json;q=1.001"}, 0},
		{[]string{"application/json;q=2"}, 0},
		{[]string{"application/json;q=x, */*;q=0.2"}, 200},
		{[]string{"application/json;version=1, */*;q=0.3"}, 300},
		{[]string{"application/json;q=0.5;ext=1"}, 500},
		{[]string{"application/jsonx, application, application/, /json, *, ,,"}, 0},
		{[]string{"application/json;q=0.1, application/json;q=0.9"}, 100},
	} {
		var values [][]byte
		for _, v := range test.values {
			values = append(values, []byte(v))
		}
		if got := AcceptWeight(values, "application/json"); got != test.want {
			t.Errorf("%q: got %d, want %d", test.values, got, test.want)
		}
	}
}

// No value is too much, and the weight stays in its bounds.
func FuzzAcceptWeight(f *testing.F) {
	f.Add([]byte("text/html;q=0.5, */*"))
	f.Fuzz(func(t *testing.T, v []byte) {
		if q := AcceptWeight([][]byte{v}, "text/html"); q < 0 || q > 1000 {
			t.Errorf("%q: %d", v, q)
		}
	})
}
