package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"

	"github.com/galehttp/gale"
)

// store keeps files in a folder.
type store struct {
	root  *os.Root
	limit int64 // of a request body in bytes
	serve gale.RequestHandler
}

// stored describes a file to a client.
type stored struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

func (s *store) handle(ctx *gale.RequestCtx) {
	name, ok := strings.CutPrefix(string(ctx.Path()), "/files/")
	switch {
	case !ok:
		ctx.Error("files are under /files/", gale.StatusNotFound)
	case ctx.IsPut():
		s.put(ctx, name)
	case ctx.IsPost() && name == "":
		s.post(ctx)
	default:
		s.serve(ctx)
	}
}

// put stores the body of the request as a file.
func (s *store) put(ctx *gale.RequestCtx, name string) {
	if int64(ctx.Request.Header.ContentLength()) > s.limit {
		fail(ctx, gale.ErrBodyTooLarge) // before any of it is read
		return
	}
	ctx.LimitRequestBody(s.limit)
	kept, err := s.keep(name, ctx.RequestBodyStream())
	if err != nil {
		fail(ctx, err)
		return
	}
	answer(ctx, []stored{kept})
}

// post stores the files of a form while they arrive.
func (s *store) post(ctx *gale.RequestCtx) {
	ctx.LimitRequestBody(s.limit)
	form, err := ctx.MultipartReader()
	if err != nil {
		fail(ctx, badRequest{err})
		return
	}
	var all []stored
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			answer(ctx, all)
			return
		}
		if err != nil {
			fail(ctx, badRequest{err})
			return
		}
		if part.FileName() == "" {
			continue // a field without a file
		}
		kept, err := s.keep(part.FileName(), part)
		if err != nil {
			fail(ctx, err)
			return
		}
		all = append(all, kept)
	}
}

// goodName matches allowed file names: no hidden files, no path separators.
var goodName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$`)

// keep writes to a temporary file and renames it when it is complete.
func (s *store) keep(name string, from io.Reader) (_ stored, err error) {
	if !goodName.MatchString(name) {
		return stored{}, badRequest{fmt.Errorf("the file name %q is not allowed", name)}
	}
	partial := fmt.Sprintf(".%s.%x", name, rand.Uint64())
	f, err := s.root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return stored{}, err
	}
	defer func() {
		f.Close()
		if err != nil {
			_ = s.root.Remove(partial)
		}
	}()
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, sum), fromClient{from})
	if err != nil {
		return stored{}, err
	}
	if err := f.Close(); err != nil {
		return stored{}, err
	}
	if err := s.root.Rename(partial, name); err != nil {
		return stored{}, err
	}
	return stored{name, size, hex.EncodeToString(sum.Sum(nil))}, nil
}

// badRequest is an error that the client caused.
type badRequest struct{ error }

func (e badRequest) Unwrap() error { return e.error }

// fromClient marks errors of reading as the client's. Errors of writing are ours.
type fromClient struct{ r io.Reader }

func (c fromClient) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if err != nil && err != io.EOF {
		err = badRequest{err}
	}
	return n, err
}

// fail answers with an error. If the body wasn't read to its end, the server closes the
// connection.
func fail(ctx *gale.RequestCtx, err error) {
	var bad badRequest
	switch {
	case errors.Is(err, gale.ErrBodyTooLarge):
		ctx.Error("the file is too large", gale.StatusRequestEntityTooLarge)
	case errors.As(err, &bad):
		ctx.Error(err.Error(), gale.StatusBadRequest)
	default:
		log.Printf("%s %s: %v", ctx.Method(), ctx.Path(), err)
		ctx.Error("the file can't be stored", gale.StatusInternalServerError)
	}
}

// answer lists the files that were stored.
func answer(ctx *gale.RequestCtx, kept []stored) {
	ctx.SetStatusCode(gale.StatusCreated)
	ctx.SetContentType("application/json")
	if err := json.NewEncoder(ctx).Encode(kept); err != nil {
		log.Print(err)
	}
}
