// Api is a service with JSON, query arguments, two middlewares and values that
// one of them hands to the handlers. Its tests need no network.
//
//	go run ./examples/api -addr 127.0.0.1:8080
//	curl -H 'X-User: ada' 'http://127.0.0.1:8080/notes?limit=5'
//	curl -H 'X-User: ada' -d '{"text":"buy milk"}' http://127.0.0.1:8080/notes
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"log"
	"sync"
	"time"

	"github.com/galehttp/gale"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on `HOST:PORT`")
	flag.Parse()
	server := &gale.Server{
		Handler:            new(notes).handler(),
		ReadTimeout:        10 * time.Second,
		WriteTimeout:       10 * time.Second,
		IdleTimeout:        time.Minute,
		MaxRequestBodySize: 64 << 10,
	}
	log.Fatal(server.ListenAndServe(*addr))
}

// note is what the service keeps.
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

func (n *notes) route(ctx *gale.RequestCtx) {
	switch string(ctx.Path()) {
	case "/notes":
		switch {
		case ctx.IsGet():
			n.list(ctx)
		case ctx.IsPost():
			n.add(ctx)
		default:
			fail(ctx, gale.StatusMethodNotAllowed, "GET or POST")
			ctx.Response.Header.Set(gale.HeaderAllow, "GET, POST")
		}
	default:
		fail(ctx, gale.StatusNotFound, "there is nothing here")
	}
}

// list answers with the newest notes, as many as the query says.
func (n *notes) list(ctx *gale.RequestCtx) {
	limit, err := ctx.QueryArgs().GetUint("limit")
	switch {
	case errors.Is(err, gale.ErrNoArgValue):
		limit = 10
	case err != nil:
		fail(ctx, gale.StatusBadRequest, "limit is no number")
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	newest := n.all[max(0, len(n.all)-limit):]
	if newest == nil {
		newest = []note{}
	}
	answer(ctx, gale.StatusOK, newest)
}

// add keeps the note in the body under the name of the user.
func (n *notes) add(ctx *gale.RequestCtx) {
	var added note
	if err := json.Unmarshal(ctx.PostBody(), &added); err != nil {
		fail(ctx, gale.StatusBadRequest, err.Error())
		return
	}
	added.Author = ctx.UserValue(userKey{}).(string)
	n.mu.Lock()
	n.all = append(n.all, added)
	n.mu.Unlock()
	answer(ctx, gale.StatusCreated, added)
}

// userKey is the key of the user's name among the values of a request.
type userKey struct{}

// authenticated lets requests through that say who sends them. A real service
// would want a proof.
func authenticated(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		user := string(ctx.Request.Header.Peek("X-User")) // a copy, to be kept
		if user == "" {
			fail(ctx, gale.StatusUnauthorized, "say who you are in X-User")
			return
		}
		ctx.SetUserValue(userKey{}, user)
		next(ctx)
	}
}

// logged writes a line for each request.
func logged(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		start := time.Now()
		next(ctx)
		log.Printf("%s %s %q: %d, %d bytes, %s", ctx.RemoteAddr(), ctx.Method(), ctx.RequestURI(),
			ctx.Response.StatusCode(), len(ctx.Response.Body()), time.Since(start))
	}
}

// answer sends v as JSON.
func answer(ctx *gale.RequestCtx, status int, v any) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	if err := json.NewEncoder(ctx).Encode(v); err != nil {
		log.Printf("an answer can't be encoded: %v", err)
		ctx.Error("Internal Server Error", gale.StatusInternalServerError)
	}
}

// fail sends an error as JSON.
func fail(ctx *gale.RequestCtx, status int, message string) {
	answer(ctx, status, map[string]string{"error": message})
}
