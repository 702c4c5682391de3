package main

import (
	"github.com/galehttp/gale"
	"github.com/galehttp/gale/cmd/gale/internal/listing"
)

// newPages returns the pages that aren't files: listings and those for errors.
func (cfg *serveConfig) newPages() *listing.Pages {
	return listing.New(listing.Config{
		Dir:      cfg.dir,
		DotFiles: cfg.dotfiles,
		Compress: cfg.compress,
		Upload:   cfg.upload.on,
		Zip:      cfg.zip,
	})
}

// errorPage answers with an error: a page for browsers, JSON for clients that prefer it, and
// a line of text for others. message is a sentence that says what is wrong and what to do.
func errorPage(ctx *gale.RequestCtx, status int, message string) {
	listing.ErrorPage(ctx, status, message)
}

// noListing answers for a folder without an index page if listings are off.
func noListing(ctx *gale.RequestCtx) {
	errorPage(ctx, gale.StatusForbidden, "This folder has no index page, and its files aren't listed.")
}
