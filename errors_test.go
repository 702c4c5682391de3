package gale

import (
	"errors"
	"io"
	"testing"
)

func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{ErrBodyTooLarge, "fasthttp: body size exceeds the given limit"},
		{ErrTimeout, "fasthttp: timeout"},
		{EscapeError("%zz"), `invalid url escape "%zz"`},
		{InvalidHostError("a b"), `invalid character "a b" in host name`},
		{ErrNothingRead{io.ErrClosedPipe}, "io: read/write on closed pipe"},
		{&ErrSmallBuffer{}, ErrSmallReadBuffer.Error()},
		{ErrBrokenChunk{}, "broken chunk"},
		{ErrNothingRead{}, "nothing read"},
		{ErrBodyStreamWritePanic{}, "panic while writing body stream"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%T: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestErrorWrapping(t *testing.T) {
	if !errors.Is(ErrBrokenChunk{io.ErrUnexpectedEOF}, io.ErrUnexpectedEOF) {
		t.Error("ErrBrokenChunk hides the error it wraps")
	}
	var small *ErrSmallBuffer
	if !errors.As(error(&ErrSmallBuffer{ErrSmallReadBuffer}), &small) || !errors.Is(small, ErrSmallReadBuffer) {
		t.Error("ErrSmallBuffer can't be told by type and sentinel")
	}
	var timeout interface{ Timeout() bool }
	if !errors.As(error(ErrTimeout), &timeout) || !timeout.Timeout() {
		t.Error("ErrTimeout isn't a timeout")
	}
}
