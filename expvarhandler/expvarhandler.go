// Package expvarhandler serves the variables of package expvar: counters and
// other values that a running program shows of itself.
//
// The variables tell strangers about the program, its command line among other
// things: serve them only to clients that may see them.
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

// ExpvarHandler answers with the variables of package expvar as one JSON object,
// sorted by name.
//
// The query argument r, a regular expression of package regexp, picks those whose
// names match it; without it, all of them are sent. An r that is no regular
// expression is answered with 400.
//
// Two variables are this handler's own: expvarHandlerCalls counts its calls,
// expvarRegexpErrors those with a bad r. It answers whatever the path and the
// method are, and is safe for concurrent use.
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

// pick returns what says which names are wanted.
func pick(r []byte) (func(name string) bool, error) {
	if len(r) == 0 {
		return func(string) bool { return true }, nil
	}
	rx, err := regexp.Compile(string(r))
	if err != nil {
		return nil, fmt.Errorf("cannot parse r=%q: %w", r, err)
	}
	return rx.MatchString, nil
}
