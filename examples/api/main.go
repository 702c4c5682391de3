// Api is a service with JSON, query arguments, two middlewares and values that
// one of them passes to the handlers. Its tests need no network.
//
//	go run ./examples/api -addr 127.0.0.1:8080
//	curl -H 'X-User: ada' 'http://127.0.0.1:8080/notes?limit=5'
//	curl -H 'X-User: ada' -H 'Content-Type: application/json' -d '{"text":"buy milk"}' http://127.0.0.1:8080/notes
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"log/slog"
	"sync"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	server := &gale.Server{
		Handler:            new(notes).handler(),
		Slog:               slog.Default(),
		ReadTimeout:        10 * time.Second,
		WriteTimeout:       10 * time.Second,
		IdleTimeout:        time.Minute,
		MaxRequestBodySize: 64 << 10,
	}
	if err := gale.Run(context.Background(), server, *addr); err != nil {
		log.Fatal(err)
	}
}

// note is what the service stores.
type note struct {
	Author string `json:"author"`
	Text   string `json:"text"`
}

// notes holds all notes in memory.
type notes struct {
	mu  sync.Mutex
	all []note
}

// handler returns the whole service.
func (n *notes) handler() gale.RequestHandler {
	return logged(authenticated(n.route))
}

// Errors that clients see.
var (
	errUser  = errors.New("the header X-User is missing")
	errLimit = errors.New("limit must be a number")
)

// route chooses the function for a request. Fail answers with text, or with JSON if the
// client's Accept header prefers that.
func (n *notes) route(ctx *gale.RequestCtx) {
	switch {
	case string(ctx.Path()) != "/notes":
		ctx.Fail(gale.StatusNotFound, nil)
	case ctx.IsGet(), ctx.IsHead():
		n.list(ctx)
	case ctx.IsPost():
		n.add(ctx)
	default:
		ctx.Response.Header.Set(gale.HeaderAllow, "GET, HEAD, POST")
		ctx.Fail(gale.StatusMethodNotAllowed, nil)
	}
}

// list answers with the newest notes, as many as the query asks for.
func (n *notes) list(ctx *gale.RequestCtx) {
	limit, err := ctx.QueryArgs().GetUint("limit")
	switch {
	case errors.Is(err, gale.ErrNoArgValue):
		limit = 10
	case err != nil:
		ctx.Fail(gale.StatusBadRequest, errLimit)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	newest := n.all[max(0, len(n.all)-limit):]
	if newest == nil {
		newest = []note{} // nil would be null in JSON
	}
	answer(ctx, gale.StatusOK, newest)
}

// add stores the note in the body under the name of the user.
func (n *notes) add(ctx *gale.RequestCtx) {
	var added note
	if err := ctx.BindJSON(&added); err != nil {
		ctx.Fail(gale.ErrorStatus(err), err)
		return
	}
	added.Author = ctx.UserValue(userKey{}).(string)
	n.mu.Lock()
	n.all = append(n.all, added)
	n.mu.Unlock()
	answer(ctx, gale.StatusCreated, added)
}

// answer sends v as JSON.
func answer(ctx *gale.RequestCtx, status int, v any) {
	if err := ctx.JSON(status, v); err != nil {
		ctx.Fail(gale.StatusInternalServerError, err)
	}
}

// userKey is the key of the user's name among the values of a request.
type userKey struct{}

// authenticated answers 401 to requests without a name in X-User. A real service
// would ask for a password or a token.
func authenticated(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		user := string(ctx.Request.Header.Peek("X-User")) // a copy, which add stores
		if user == "" {
			ctx.Fail(gale.StatusUnauthorized, errUser)
			return
		}
		ctx.SetUserValue(userKey{}, user)
		next(ctx)
	}
}

// logged writes a line for each request when its response is sent.
func logged(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		start := time.Now()
		ctx.BeforeSend(func(ctx *gale.RequestCtx) {
			slog.Info("request", "client", ctx.ClientIP(), "method", string(ctx.Method()), "path", string(ctx.Path()),
				"status", ctx.Response.StatusCode(), "took", time.Since(start))
		})
		next(ctx)
	}
}
