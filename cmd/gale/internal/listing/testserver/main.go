// Command testserver serves a folder with the pages of package listing, for the tests in
// tests/browser. It takes uploads, and answers those of some names as a full or refusing
// server does, which a real one does only on a full disk.
//
//	usage: testserver DIR
//
// It prints its address, and ends when its standard input does. An upload whose name begins
// with a status, such as "507 a.txt", gets that status. One whose name begins with "hold"
// is not read before a request for /hold-no-more.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/cmd/gale/internal/listing"
)

func main() {
	dir, err := filepath.Abs(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	pages := listing.New(listing.Config{Dir: dir, Compress: true, Upload: true, Zip: true})
	files := (&gale.FS{Root: dir, PathNotFound: pages.NotFound, IndexNotFound: pages.Folder, AcceptByteRange: true, SkipCache: true}).NewRequestHandler()
	u := uploads{dir: dir, held: make(chan struct{})}
	s := &gale.Server{
		StreamRequestBody:  true,
		MaxRequestBodySize: 1 << 30,
		Handler: func(ctx *gale.RequestCtx) {
			switch {
			case ctx.IsPut():
				u.put(ctx)
			case ctx.IsPost():
				u.post(ctx)
			case string(ctx.Path()) == "/hold-no-more":
				u.release.Do(func() { close(u.held) })
			default:
				files(ctx)
			}
		},
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Printf("http://%s/\n", ln.Addr())
	log.Fatal(s.Serve(ln))
}

type uploads struct {
	dir     string
	held    chan struct{}
	release sync.Once
}

// put stores the body of a request.
func (u *uploads) put(ctx *gale.RequestCtx) {
	name := strings.TrimPrefix(string(ctx.Path()), "/")
	if status, err := strconv.Atoi(strings.SplitN(name, " ", 2)[0]); err == nil {
		_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
		listing.ErrorPage(ctx, status, "The test server answers "+strconv.Itoa(status)+".")
		return
	}
	if strings.HasPrefix(name, "hold") {
		<-u.held
	}
	if string(ctx.Request.Header.Peek(gale.HeaderIfNoneMatch)) != "*" {
		listing.ErrorPage(ctx, gale.StatusPreconditionRequired, "If-None-Match is missing.")
		return
	}
	n, err := u.store(name, ctx.RequestBodyStream())
	if os.IsExist(err) {
		listing.ErrorPage(ctx, gale.StatusConflict, name+" exists.")
		return
	}
	if err != nil {
		listing.ErrorPage(ctx, gale.StatusInternalServerError, err.Error())
		return
	}
	ctx.SetStatusCode(gale.StatusCreated)
	ctx.SetContentType("application/json")
	fmt.Fprintf(ctx, `{"name":%q,"size":%d}`, name, n)
}

// post stores the files of a form.
func (u *uploads) post(ctx *gale.RequestCtx) {
	form, err := ctx.MultipartForm()
	if err != nil {
		listing.ErrorPage(ctx, gale.StatusBadRequest, err.Error())
		return
	}
	for _, file := range form.File["file"] {
		f, err := file.Open()
		if err == nil {
			_, err = u.store(file.Filename, f)
		}
		if err != nil {
			listing.ErrorPage(ctx, gale.StatusInternalServerError, err.Error())
			return
		}
	}
	ctx.Response.Header.Set(gale.HeaderLocation, "./")
	ctx.SetStatusCode(gale.StatusSeeOther)
}

func (u *uploads) store(name string, from io.Reader) (int64, error) {
	f, err := os.OpenFile(filepath.Join(u.dir, filepath.Base(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(f, from)
}
