package h1

import (
	"testing"

	"github.com/galehttp/gale/internal/pool/pooltest"
)

// A trailer section that is dropped holds nothing, and gives empty memory back.
func TestTrailersForget(t *testing.T) {
	var s trailerScan
	if _, _, err := s.next([]byte("X-Canary: 1\r\nX-"), nil, &Limits{}); err != nil {
		t.Fatal(err)
	}
	part := s.part
	if part == nil || len(part.Recs) == 0 {
		t.Fatal("the part of a trailer section is not there")
	}
	s.drop()
	pooltest.TakeBack(&trailerParts, part)
	if s != (trailerScan{}) {
		t.Errorf("a trailer section that was dropped is %+v", s)
	}
	if len(part.Buf)|len(part.Recs) > 0 || part.Seen() != 0 {
		t.Error("its memory holds fields")
	}
}
