package gale

import (
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestErrorTexts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{ErrBodyTooLarge, "gale: body size exceeds the given limit"},
		{ErrTimeout, "gale: timeout"},
		{EscapeError("%zz"), `gale: invalid url escape "%zz"`},
		{InvalidHostError("a b"), `gale: invalid character "a b" in host name`},
		{ErrNothingRead{io.ErrClosedPipe}, "io: read/write on closed pipe"},
		{&ErrSmallBuffer{}, ErrSmallReadBuffer.Error()},
		{ErrBrokenChunk{}, "gale: broken chunk"},
		{ErrNothingRead{}, "gale: nothing read"},
		{ErrBodyStreamWritePanic{}, "gale: panic while writing body stream"},
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

// TestErrorPrefix proves that the text of each exported error variable begins with "gale:
// ", and that its list has all of them.
func TestErrorPrefix(t *testing.T) {
	all := map[string]error{
		"ErrAbortHandler":                        ErrAbortHandler,
		"ErrAlreadyServing":                      ErrAlreadyServing,
		"ErrBadTrailer":                          ErrBadTrailer,
		"ErrBodyTooLarge":                        ErrBodyTooLarge,
		"ErrClientGone":                          ErrClientGone,
		"ErrConcurrencyLimit":                    ErrConcurrencyLimit,
		"ErrConnPoolStrategyNotImpl":             ErrConnPoolStrategyNotImpl,
		"ErrConnectionClosed":                    ErrConnectionClosed,
		"ErrContentEncodingUnsupported":          ErrContentEncodingUnsupported,
		"ErrDeadlineUpdatesDisabled":             ErrDeadlineUpdatesDisabled,
		"ErrDialTimeout":                         ErrDialTimeout,
		"ErrDuplicateContentLength":              ErrDuplicateContentLength,
		"ErrEmptyRequestURI":                     ErrEmptyRequestURI,
		"ErrExtraWhitespaceInRequestLine":        ErrExtraWhitespaceInRequestLine,
		"ErrGetOnly":                             ErrGetOnly,
		"ErrHostClientRedirectToDifferentScheme": ErrHostClientRedirectToDifferentScheme,
		"ErrInvalidCookieValue":                  ErrInvalidCookieValue,
		"ErrMissingFile":                         ErrMissingFile,
		"ErrMissingLocation":                     ErrMissingLocation,
		"ErrMissingRequestMethod":                ErrMissingRequestMethod,
		"ErrNeedMore":                            ErrNeedMore,
		"ErrNilConnection":                       ErrNilConnection,
		"ErrNoArgValue":                          ErrNoArgValue,
		"ErrNoAvailableClients":                  ErrNoAvailableClients,
		"ErrNoCookies":                           ErrNoCookies,
		"ErrNoExtendedConnect":                   ErrNoExtendedConnect,
		"ErrNoFreeConns":                         ErrNoFreeConns,
		"ErrNoMultipartForm":                     ErrNoMultipartForm,
		"ErrNonNumericChars":                     ErrNonNumericChars,
		"ErrPerIPConnLimit":                      ErrPerIPConnLimit,
		"ErrPipelineOverflow":                    ErrPipelineOverflow,
		"ErrReadingResponseHeaders":              ErrReadingResponseHeaders,
		"ErrReadingResponseTrailer":              ErrReadingResponseTrailer,
		"ErrRedirectBodyStream":                  ErrRedirectBodyStream,
		"ErrRequestDone":                         ErrRequestDone,
		"ErrResponseFirstLineMissingSpace":       ErrResponseFirstLineMissingSpace,
		"ErrSmallReadBuffer":                     ErrSmallReadBuffer,
		"ErrStreamRefused":                       ErrStreamRefused,
		"ErrTLSHandshakeTimeout":                 ErrTLSHandshakeTimeout,
		"ErrTimeout":                             ErrTimeout,
		"ErrTooManyRedirects":                    ErrTooManyRedirects,
		"ErrUnexpectedStatusCodeChar":            ErrUnexpectedStatusCodeChar,
		"ErrUnsupportedRequestMethod":            ErrUnsupportedRequestMethod,
		"ErrUnsupportedTransferEncoding":         ErrUnsupportedTransferEncoding,
		"ErrorInvalidURI":                        ErrorInvalidURI,
	}
	for name, err := range all {
		if !strings.HasPrefix(err.Error(), "gale: ") {
			t.Errorf("%s: %q", name, err)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == gotoken.VAR {
				for _, spec := range d.Specs {
					for _, name := range spec.(*ast.ValueSpec).Names {
						if strings.HasPrefix(name.Name, "Err") && all[name.Name] == nil {
							t.Errorf("%s: %s is missing in the table above", file, name.Name)
						}
					}
				}
			}
		}
	}
}
