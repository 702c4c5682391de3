package listing

import (
	"io"
	"os"
	"path"
	"strings"

	"github.com/galehttp/gale"
)

const (
	// notFoundName is the name of a folder's own page for paths that don't exist.
	notFoundName = "404.html"
	// maxNotFound is the size in bytes of the largest such page that is sent, and
	// maxDepth how many folders are searched for one, from the root down.
	maxNotFound = 1 << 20
	maxDepth    = 32
)

// NotFound answers a request for a path that doesn't exist. It sends 404.html of the nearest
// folder above the path that has one, or a page of our own. The status is 404 in any case.
func (p *Pages) NotFound(ctx *gale.RequestCtx) {
	page, ok := p.notFoundPage(string(ctx.Path()))
	if !ok {
		ErrorPage(ctx, gale.StatusNotFound, "There is no file or folder at this address.")
		return
	}
	ctx.SetStatusCode(gale.StatusNotFound)
	ctx.SetContentType(htmlType)
	ctx.Response.Header.Set(gale.HeaderCacheControl, "no-cache")
	if p.Compress {
		addVary(ctx, "Accept-Encoding")
		page = compressed(ctx, page)
	}
	ctx.Response.SetBodyRaw(page)
}

// notFoundPage returns the page to send for a path that doesn't exist.
func (p *Pages) notFoundPage(target string) (page []byte, ok bool) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	dir, nearest := ".", ""
	segments := strings.Split(strings.TrimPrefix(target, "/"), "/")
	for i := range min(len(segments), maxDepth) {
		if i > 0 {
			if dir = path.Join(dir, segments[i-1]); !p.rules.MayOpen(p.Dir, []byte(dir)) {
				break
			}
			if info, err := root.Stat(dir); err != nil || !info.IsDir() {
				break
			}
		}
		name := path.Join(dir, notFoundName)
		if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() <= maxNotFound {
			nearest = name
		}
	}
	return readRegular(root, nearest)
}

// readRegular reads a regular file. ok is false if there is none, or name is empty.
func readRegular(root *os.Root, name string) (content []byte, ok bool) {
	if name == "" {
		return nil, false
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	content, err = io.ReadAll(io.LimitReader(f, maxNotFound))
	return content, err == nil
}
