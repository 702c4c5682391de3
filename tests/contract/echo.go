package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"

	"github.com/galehttp/gale"
)

// prefixLen is how much of the body an echo repeats.
const prefixLen = 512

// echoed is a request as the library saw it. Bytes are written as Latin-1.
type echoed struct {
	Method     string      `json:"method"`
	Target     string      `json:"target"`
	PathQ      string      `json:"pathq"`
	Proto      string      `json:"proto"`
	Host       string      `json:"host"`
	Headers    [][2]string `json:"headers"`
	BodyLen    int         `json:"body_len"`
	BodySHA1   string      `json:"body_sha1"`
	BodyPrefix string      `json:"body_prefix"`
}

func echo(ctx *gale.RequestCtx) {
	h, body := &ctx.Request.Header, ctx.PostBody()
	sum := sha1.Sum(body)
	e := echoed{
		Method:     latin1(h.Method()),
		Target:     latin1(h.RequestURI()),
		PathQ:      latin1(pathQuery(h.RequestURI())),
		Proto:      latin1(h.Protocol()),
		Host:       latin1(ctx.Host()),
		Headers:    [][2]string{},
		BodyLen:    len(body),
		BodySHA1:   hex.EncodeToString(sum[:]),
		BodyPrefix: latin1(body[:min(len(body), prefixLen)]),
	}
	for name, value := range h.AllInOrder() {
		e.Headers = append(e.Headers, [2]string{latin1(name), latin1(value)})
	}
	writeJSON(ctx, e)
}

func cookies(ctx *gale.RequestCtx) {
	list := [][2]string{}
	for name, value := range ctx.Request.Header.Cookies() {
		list = append(list, [2]string{latin1(name), latin1(value)})
	}
	writeJSON(ctx, list)
}

func writeJSON(ctx *gale.RequestCtx, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // never happens: strings and numbers can always be encoded
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(b)
}

// latin1 turns each byte 0xNN into U+00NN.
func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// pathQuery returns target without the scheme and authority of an
// absolute-form (RFC 9112 section 3.2.2).
func pathQuery(target []byte) []byte {
	i := bytes.Index(target, []byte("://"))
	if i < 0 || bytes.IndexByte(target[:i], '/') >= 0 {
		return target
	}
	rest := target[i+len("://"):]
	if i = bytes.IndexAny(rest, "/?"); i < 0 {
		return []byte("/")
	}
	if rest[i] == '?' {
		return append([]byte("/"), rest[i:]...)
	}
	return rest[i:]
}
