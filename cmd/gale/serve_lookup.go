package main

import "github.com/galehttp/gale"

// lookup is the user value of a request for which another path than its own is served.
type lookup struct {
	path    string
	missing bool // there is nothing to serve at path
}

type lookupKey struct{}

// What a lookup found.
type finding int

const (
	absent finding = iota
	found
	isFolder // the path needs a slash at its end
)

// find answers with the file at path, or with the index page of the folder if path ends
// in a slash. If it finds none, the response is empty.
func (f *folder) find(ctx *gale.RequestCtx, path string) finding {
	l := &lookup{path: path}
	ctx.SetUserValue(lookupKey{}, l)
	f.files(ctx)
	ctx.RemoveUserValue(lookupKey{})
	switch {
	case l.missing:
		ctx.Response.Reset()
		return absent
	case ctx.Response.StatusCode() == gale.StatusFound:
		ctx.Response.Reset()
		return isFolder
	}
	return found
}

// exists is find without an answer.
func (f *folder) exists(ctx *gale.RequestCtx, path string) bool {
	got := f.find(ctx, path)
	ctx.Response.Reset()
	return got == found
}

// pathToServe is the PathRewriteFunc of the folder.
func pathToServe(ctx *gale.RequestCtx) []byte {
	if l, ok := ctx.UserValue(lookupKey{}).(*lookup); ok {
		return []byte(l.path)
	}
	return ctx.Path()
}

// missed reports whether the request is in a lookup, and notes there that it failed.
func missed(ctx *gale.RequestCtx) bool {
	l, ok := ctx.UserValue(lookupKey{}).(*lookup)
	if ok {
		l.missing = true
	}
	return ok
}
