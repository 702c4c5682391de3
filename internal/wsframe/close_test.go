package wsframe

import (
	"strings"
	"testing"
)

func TestParseClose(t *testing.T) {
	tests := []struct {
		payload string
		code    uint16
		reason  string
		err     error
	}{
		{"", CodeNoStatus, "", nil},
		{"\x03\xe8", 1000, "", nil},
		{"\x03\xe8bye κόσμε", 1000, "bye κόσμε", nil},
		{"\x03", 0, "", errCloseSize},
		{"\x00\x00", 0, "", errCloseCode},
		{"\x03\xe7", 0, "", errCloseCode},
		{"\x03\xec", 0, "", errCloseCode}, // 1004
		{"\x03\xed", 0, "", errCloseCode}, // 1005
		{"\x03\xee", 0, "", errCloseCode}, // 1006
		{"\x03\xf7", 0, "", errCloseCode}, // 1015
		{"\x13\x88", 0, "", errCloseCode}, // 5000
		{"\xff\xff", 0, "", errCloseCode},
		{"\x03\xe8\xff", 0, "", errCloseReason},
		{"\x03\xe8\xce", 0, "", errCloseReason},
	}
	for _, tt := range tests {
		code, reason, err := ParseClose([]byte(tt.payload))
		if code != tt.code || string(reason) != tt.reason || err != tt.err && (err != nil || tt.err != nil) {
			t.Errorf("%q: %d, %q, %v", tt.payload, code, reason, err)
		}
	}
}

func TestValidSent(t *testing.T) {
	valid := map[uint16]bool{}
	for _, c := range []uint16{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014} {
		valid[c] = true
	}
	for c := range 1 << 16 {
		want := valid[uint16(c)] || 3000 <= c && c < 5000
		if ValidSent(uint16(c)) != want {
			t.Errorf("%d: %v", c, !want)
		}
	}
}

func TestAppendClose(t *testing.T) {
	a := strings.Repeat("a", 130)
	tests := []struct {
		code         uint16
		reason, want string
	}{
		{1000, "", "x\x03\xe8"},
		{1001, "going away", "x\x03\xe9going away"},
		{0, "ignored", "x"},
		{CodeNoStatus, "ignored", "x"},
		{1000, a, "x\x03\xe8" + a[:123]},
		{1000, a[:122] + "é", "x\x03\xe8" + a[:122]},
		{1000, a[:121] + "é", "x\x03\xe8" + a[:121] + "é"},
		{1000, a[:120] + "🙂", "x\x03\xe8" + a[:120]},
		{1000, "ab\xffcd", "x\x03\xe8ab"},
		{1000, "ab\xe2\x82", "x\x03\xe8ab"},
	}
	for _, tt := range tests {
		if got := AppendClose([]byte("x"), tt.code, tt.reason); string(got) != tt.want {
			t.Errorf("%d, %q: %q, want %q", tt.code, tt.reason, got, tt.want)
		} else if _, _, err := ParseClose(got[1:]); err != nil {
			t.Errorf("%q: %v", got, err)
		}
	}
	for _, e := range failures[1:] {
		if len(e.Reason) > MaxControl-2 || !ValidSent(e.Code) || !strings.HasPrefix(e.Error(), "websocket: ") {
			t.Errorf("%v can't be sent", e)
		}
	}
}
