//lint:file-ignore SA1019 deprecated names have to work, too

package message

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/router"
)

// TestErrorPrefix proves that the text of each exported error variable begins with "gale:
// ", and that its list has all of them.
func TestErrorPrefix(t *testing.T) {
	all := map[string]error{
		"ErrAbortHandler":                        gale.ErrAbortHandler,
		"ErrAlreadyServing":                      gale.ErrAlreadyServing,
		"ErrBadTrailer":                          gale.ErrBadTrailer,
		"ErrBodyTooLarge":                        gale.ErrBodyTooLarge,
		"ErrClientGone":                          gale.ErrClientGone,
		"ErrConcurrencyLimit":                    gale.ErrConcurrencyLimit,
		"ErrConnPoolStrategyNotImpl":             gale.ErrConnPoolStrategyNotImpl,
		"ErrConnectionClosed":                    gale.ErrConnectionClosed,
		"ErrContentEncodingUnsupported":          gale.ErrContentEncodingUnsupported,
		"ErrDeadlineUpdatesDisabled":             gale.ErrDeadlineUpdatesDisabled,
		"ErrDialTimeout":                         gale.ErrDialTimeout,
		"ErrDuplicateContentLength":              gale.ErrDuplicateContentLength,
		"ErrEmptyRequestURI":                     gale.ErrEmptyRequestURI,
		"ErrExtraWhitespaceInRequestLine":        gale.ErrExtraWhitespaceInRequestLine,
		"ErrGetOnly":                             gale.ErrGetOnly,
		"ErrHostClientRedirectToDifferentScheme": gale.ErrHostClientRedirectToDifferentScheme,
		"ErrInvalidCookieValue":                  gale.ErrInvalidCookieValue,
		"ErrMissingFile":                         gale.ErrMissingFile,
		"ErrMissingLocation":                     gale.ErrMissingLocation,
		"ErrMissingRequestMethod":                gale.ErrMissingRequestMethod,
		"ErrNeedMore":                            gale.ErrNeedMore,
		"ErrNilConnection":                       gale.ErrNilConnection,
		"ErrNoArgValue":                          gale.ErrNoArgValue,
		"ErrNoAvailableClients":                  gale.ErrNoAvailableClients,
		"ErrNoCookies":                           gale.ErrNoCookies,
		"ErrNoExtendedConnect":                   gale.ErrNoExtendedConnect,
		"ErrNoFreeConns":                         gale.ErrNoFreeConns,
		"ErrNoMultipartForm":                     gale.ErrNoMultipartForm,
		"ErrNonNumericChars":                     gale.ErrNonNumericChars,
		"ErrPerIPConnLimit":                      gale.ErrPerIPConnLimit,
		"ErrPipelineOverflow":                    gale.ErrPipelineOverflow,
		"ErrReadingResponseHeaders":              gale.ErrReadingResponseHeaders,
		"ErrReadingResponseTrailer":              gale.ErrReadingResponseTrailer,
		"ErrRedirectBodyStream":                  gale.ErrRedirectBodyStream,
		"ErrRequestDone":                         gale.ErrRequestDone,
		"ErrResponseFirstLineMissingSpace":       gale.ErrResponseFirstLineMissingSpace,
		"ErrSmallReadBuffer":                     gale.ErrSmallReadBuffer,
		"ErrStopped":                             gale.ErrStopped,
		"ErrStreamRefused":                       gale.ErrStreamRefused,
		"ErrTLSHandshakeTimeout":                 gale.ErrTLSHandshakeTimeout,
		"ErrTimeout":                             gale.ErrTimeout,
		"ErrTooManyRedirects":                    gale.ErrTooManyRedirects,
		"ErrUnexpectedStatusCodeChar":            gale.ErrUnexpectedStatusCodeChar,
		"ErrUnsupportedRequestMethod":            gale.ErrUnsupportedRequestMethod,
		"ErrUnsupportedTransferEncoding":         gale.ErrUnsupportedTransferEncoding,
		"ErrorInvalidURI":                        gale.ErrorInvalidURI,
	}
	checkErrors(t, "gale", "../../*.go", all)
}

// TestRouterErrorPrefix is TestErrorPrefix for package router, with the errors of Attach, which are no variables.
func TestRouterErrorPrefix(t *testing.T) {
	all := map[string]error{
		"ErrNoRoute":   router.ErrNoRoute,
		"ErrURLValues": router.ErrURLValues,
	}
	for name, s := range map[string]*gale.Server{
		"Attach, no server":      nil,
		"Attach, Handler":        {Handler: func(*gale.RequestCtx) {}},
		"Attach, HeaderReceived": {HeaderReceived: func(*gale.RequestHeader) (c gale.RequestConfig) { return c }},
		"Attach, RequestStarted": {RequestStarted: func(*gale.RequestCtx) (c gale.RequestConfig) { return c }},
	} {
		if all[name] = router.New().Attach(s); all[name] == nil {
			t.Fatalf("%s: there is no error", name)
		}
	}
	checkErrors(t, "router", "../../router/*.go", all)
}

// checkErrors checks that the texts of all errors begin with the name of the package, and that they have all exported
// error variables of its files.
func checkErrors(t *testing.T, pkg, pattern string, all map[string]error) {
	t.Helper()
	for name, err := range all {
		if !strings.HasPrefix(err.Error(), pkg+": ") {
			t.Errorf("%s: %q", name, err)
		}
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < 10 {
		t.Fatalf("the files of package %s: %d, %v", pkg, len(files), err)
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
