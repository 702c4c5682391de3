package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/cmd/gale/internal/folderzip"
	"github.com/galehttp/gale/cmd/gale/internal/upload"
	"github.com/galehttp/gale/internal/shares"
	"github.com/galehttp/gale/internal/static"
)

func (cfg *serveConfig) zipFlags(fs *flag.FlagSet) {
	fs.BoolVar(&cfg.zip, "zip", false, "send a folder as a zip archive for its address with ?zip")
}

// Limits of archives.
const (
	maxZips       = 4 // at a time
	maxOwnZips    = 2 // of these, for one client
	zipRetry      = "10"
	maxZipEntries = 100_000
	maxZipDepth   = 32
	zipBuffer     = 64 << 10
)

// zips sends folders as archives.
type zips struct {
	dir      string
	rules    static.Rules
	settings folderzip.Settings
	logger   *slog.Logger
	slots    chan struct{}
	shares   shares.Shares
}

// withZip answers GET and HEAD requests for the address of a folder with the query "zip".
func (cfg *serveConfig) withZip(h gale.RequestHandler, logger *slog.Logger) gale.RequestHandler {
	z := &zips{
		dir:    cfg.dir,
		rules:  static.Rules{Windows: runtime.GOOS == "windows", HideDot: !cfg.dotfiles},
		logger: logger,
		slots:  make(chan struct{}, maxZips),
		settings: folderzip.Settings{
			Hide: func(name string) bool {
				return upload.Unfinished(name) || !cfg.dotfiles && static.IsDotFile([]byte(name))
			},
			MaxEntries: maxZipEntries,
			MaxDepth:   maxZipDepth,
		},
	}
	return func(ctx *gale.RequestCtx) {
		if !z.wanted(ctx) || !z.serve(ctx) {
			h(ctx)
		}
	}
}

func (z *zips) wanted(ctx *gale.RequestCtx) bool {
	return len(ctx.URI().QueryString()) > 0 && (ctx.IsGet() || ctx.IsHead()) && static.EndsInSlash(ctx.Path()) &&
		ctx.QueryArgs().Has("zip") && z.rules.MayOpen(z.dir, ctx.Path())
}

// serve answers with the archive of a folder. It returns false if there is no such folder.
func (z *zips) serve(ctx *gale.RequestCtx) (ok bool) {
	give, ok := z.enter(ctx.ClientIP())
	if !ok {
		errorPage(ctx, gale.StatusServiceUnavailable, "Too many archives are sent at the moment: try again in "+zipRetry+" seconds.")
		ctx.Response.Header.Set(gale.HeaderRetryAfter, zipRetry)
		return true
	}
	root, err := os.OpenRoot(z.dir)
	if err != nil {
		give()
		return false
	}
	body := &zipBody{root: root, give: give, logger: z.logger}
	handed := false
	defer func() {
		if !handed {
			_ = body.Close()
		}
	}()
	name := string(static.AppendName(nil, ctx.Path()))
	top := path.Base(name)
	if name == "." {
		top = "files"
	}
	body.archive, err = folderzip.Plan(ctx.Context(), root, name, top, z.settings)
	switch {
	case errors.Is(err, folderzip.ErrTooMany):
		errorPage(ctx, gale.StatusUnprocessableEntity, fmt.Sprintf("The folder has more than %d files: download its folders one by one.", z.settings.MaxEntries))
		return true
	case errors.Is(err, folderzip.ErrTooDeep):
		errorPage(ctx, gale.StatusUnprocessableEntity, fmt.Sprintf("The folder has more than %d levels of folders: download its folders one by one.", z.settings.MaxDepth))
		return true
	case err != nil:
		return false
	}
	h := &ctx.Response.Header
	ctx.SetContentType("application/zip")
	h.Set(gale.HeaderContentDisposition, attachment(top+".zip"))
	h.Set(gale.HeaderCacheControl, "no-store")
	if ctx.IsHead() {
		h.SetContentLength(-1) // not known
		ctx.Response.SkipBody = true
		return true
	}
	handed = true
	ctx.Response.SetBodyStream(body, -1)
	return true
}

// enter takes a place for an archive for the client at ip. After true, give must be called
// once.
func (z *zips) enter(ip netip.Addr) (give func(), ok bool) {
	share, ok := z.shares.Take(ip, maxOwnZips)
	if !ok {
		return nil, false
	}
	select {
	case z.slots <- struct{}{}:
		return func() { <-z.slots; share.GiveBack() }, true
	default:
		share.GiveBack()
		return nil, false
	}
}

// zipBody is the body of a response: an archive that is made while it is sent.
type zipBody struct {
	root    *os.Root
	archive *folderzip.Archive
	logger  *slog.Logger
	give    func() // gives the place back
	once    sync.Once
}

var _ gale.BodyWriterTo = (*zipBody)(nil)

// SupportsBodyWriteTo reports that WriteTo is the way to get the archive.
func (z *zipBody) SupportsBodyWriteTo() bool { return true }

// WriteTo writes the archive. After an error of its own it returns one, so that the server
// cuts the response off.
func (z *zipBody) WriteTo(w io.Writer) (int64, error) {
	out := &countingWriter{w: w}
	buf := bufio.NewWriterSize(out, zipBuffer)
	err := z.archive.Write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if failed := new(folderzip.ReadError); errors.As(err, &failed) {
		z.logger.Error("an archive broke off", "error", err.Error())
	}
	return out.n, err
}

// Read fails: the server uses WriteTo.
func (z *zipBody) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Close ends the use of the folder. The server calls it when the response has ended.
func (z *zipBody) Close() error {
	z.once.Do(func() {
		_ = z.root.Close()
		z.give()
	})
	return nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// attachment returns a Content-Disposition for a file to save (RFC 6266). Clients that
// don't know filename* get the name with a "_" for each character that isn't plain.
func attachment(name string) string {
	var plain, encoded strings.Builder
	for _, c := range name {
		if c < ' ' || c > '~' || strings.ContainsRune(`"\%/`, c) {
			c = '_'
		}
		plain.WriteRune(c)
	}
	for i := range len(name) { // RFC 8187 section 3.2.1
		if c := name[i]; 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$&+-.^_`|~", c) >= 0 {
			encoded.WriteByte(c)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", c)
		}
	}
	return `attachment; filename="` + plain.String() + `"; filename*=UTF-8''` + encoded.String()
}
