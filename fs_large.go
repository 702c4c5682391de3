package gale

import (
	"runtime"
	"sync/atomic"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/static"
)

// maxLargeStreams is how many large files the process compresses while they are sent.
// Others are sent as they are.
const maxLargeStreams = 16

var largeStreams atomic.Int32

// beginLarge takes one of the places for compressing a large file, if one is free. Each
// success needs one endLarge.
func beginLarge() bool {
	if largeStreams.Add(1) <= maxLargeStreams {
		return true
	}
	largeStreams.Add(-1)
	return false
}

func endLarge() { largeStreams.Add(-1) }

// largePlace is a place that a stream holds.
type largePlace struct{ left atomic.Bool }

func (p *largePlace) leave() {
	if !p.left.Swap(true) {
		endLarge()
	}
}

// respondLarge answers with a large file that is compressed while it is sent. If the client
// doesn't accept that, or there is no place, it leaves e to the caller and returns false.
func (h *fsHandler) respondLarge(ctx *RequestCtx, e *static.Entry, accept [][]byte) bool {
	coding := static.ChooseStreamCoding(accept, h.store.Compress)
	if coding == compress.Identity || !beginLarge() {
		return false
	}
	if h.describe(ctx, e.Streamed(coding), true) {
		endLarge()
		return true
	}
	ctx.SetStatusCode(StatusOK)
	resp := &ctx.Response
	if ctx.IsHead() {
		e.Release()
		endLarge()
		resp.ResetBody()
		resp.SkipBody = true
		resp.Header.SetContentLength(-1)
		return true
	}
	f := &largeFile{fileBody: fileBody{file: e.File, n: e.Size}, place: new(largePlace)}
	runtime.AddCleanup(f, (*largePlace).leave, f.place) // no goroutine closes it after TimeoutError
	setStream(resp, f, e.Size)
	encodeStream(resp, coding, static.StreamLevels[coding])
	return true
}

// largeFile is a fileBody that holds a place until it is closed.
type largeFile struct {
	fileBody
	place *largePlace
}

// Close releases the file and the place.
func (f *largeFile) Close() error {
	f.place.leave()
	return f.fileBody.Close()
}
