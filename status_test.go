package gale

import (
	"net/http"
	"testing"
)

func TestStatusMessage(t *testing.T) {
	for code := -1; code < 1000; code++ {
		got, std := StatusMessage(code), http.StatusText(code)
		switch code {
		case StatusTeapot, StatusRequestURITooLong, StatusRequestHeaderFieldsTooLarge, StatusRequestedRangeNotSatisfiable:
			if got == unknownStatus {
				t.Errorf("%d has no message", code)
			}
			continue
		}
		if std == "" {
			std = unknownStatus
		}
		if got != std {
			t.Errorf("%d: %q, want %q", code, got, std)
		}
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		if !StatusCodeIsRedirect(code) {
			t.Errorf("%d is a redirect", code)
		}
	}
	for _, code := range []int{200, 300, 304, 305, 306, 404} {
		if StatusCodeIsRedirect(code) {
			t.Errorf("%d is no redirect", code)
		}
	}
}
