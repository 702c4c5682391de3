package adaptor

import (
	"net/http"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/pathrule"
)

// Config has settings for handlers. The zero value is what [NewFastHTTPHandler] and
// [NewHTTPHandler] use. See "Paths" in the comment of the package for what is refused
// by default. Not in fasthttpadaptor.
type Config struct {
	// StrictPaths also answers 400 to paths with an encoded slash or backslash (%2F, %5C),
	// and to those with an empty segment ("//", but not "://"). Set it if a guard allows a
	// prefix and refuses all other paths: it finds "/public%2Fx" below /public/, and what
	// follows it may not. By default such paths pass, because package registries, S3,
	// RabbitMQ and others need them.
	StrictPaths bool

	// RawTargets hands every path on as it came, and StrictPaths has no effect. No prefix
	// that was checked before is sure then: the handler must check the path itself, by the
	// reading that it acts on. With NewHTTPHandler, ctx.Path is decoded and normalised as on
	// a Gale server; that is right if no handler of net/http has chosen by the path. By
	// default false.
	RawTargets bool
}

// NewFastHTTPHandler is [NewFastHTTPHandler] with the settings of c.
func (c Config) NewFastHTTPHandler(h http.Handler) gale.RequestHandler {
	refused := pathrule.Choose(pathrule.Default, c.StrictPaths, c.RawTargets)
	return func(ctx *gale.RequestCtx) { serve(h, ctx, refused) }
}

// NewHTTPHandler is [NewHTTPHandler] with the settings of c.
func (c Config) NewHTTPHandler(h gale.RequestHandler) http.Handler {
	refused := pathrule.Choose(pathrule.Guarded, c.StrictPaths, c.RawTargets)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if checkTarget(r, refused) != nil {
			http.Error(w, http.StatusText(http.StatusBadRequest), http.StatusBadRequest)
			return
		}
		answer(h, w, r, !c.RawTargets)
	})
}
