// Package expvarhandler serves the variables of package expvar: counters and other values
// that a running program publishes.
//
// The variables reveal details of the program, such as its command line. Serve them only
// to clients that may see them.
//
//	func handler(ctx *gale.RequestCtx) {
//		switch string(ctx.Path()) {
//		case "/debug/vars":
//			expvarhandler.ExpvarHandler(ctx)
//		default:
//			ctx.NotFound()
//		}
//	}
package expvarhandler

import (
	"expvar"
	"fmt"
	"regexp"

	"github.com/galehttp/gale"
)

var (
	handlerCalls = expvar.NewInt("expvarHandlerCalls")
	regexpErrors = expvar.NewInt("expvarRegexpErrors")
)

// ExpvarHandler sends the variables of package expvar as one JSON object, sorted by name.
//
// If the request has a query argument r, it must be a regular expression of package
// regexp, and only variables whose names match it are sent. An invalid expression, and one
// of more than 256 bytes, is answered with 400: a long one can take hundreds of MiB.
//
// The handler has two variables of its own: expvarHandlerCalls counts its calls, and
// expvarRegexpErrors counts calls with an invalid r. It ignores the path and the method,
// and is safe for concurrent use.
func ExpvarHandler(ctx *gale.RequestCtx) {
	handlerCalls.Add(1)
	picked, err := pick(ctx.QueryArgs().Peek("r"))
	if err != nil {
		regexpErrors.Add(1)
		ctx.Error("Error when obtaining expvar regexp: "+err.Error(), gale.StatusBadRequest)
		return
	}
	ctx.SetContentType("application/json; charset=utf-8")
	ctx.SetBodyString("{\n")
	separator := ""
	expvar.Do(func(kv expvar.KeyValue) {
		if picked(kv.Key) {
			fmt.Fprintf(ctx, "%s\t%q: %s", separator, kv.Key, kv.Value)
			separator = ",\n"
		}
	})
	ctx.WriteString("\n}\n")
}

// maxExpression is the largest length of the argument r in bytes.
const maxExpression = 256

// pick returns a function that reports whether a name matches r.
func pick(r []byte) (func(name string) bool, error) {
	if len(r) == 0 {
		return func(string) bool { return true }, nil
	}
	if len(r) > maxExpression {
		return nil, fmt.Errorf("r has %d bytes: at most %d are allowed", len(r), maxExpression)
	}
	rx, err := regexp.Compile(string(r))
	if err != nil {
		return nil, fmt.Errorf("cannot parse r=%q: %w", r, err)
	}
	return rx.MatchString, nil
}
