// Package nethttpapp is the lab's server as a net/http handler, for net/http and for Gale's
// adaptor.
package nethttpapp

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/galehttp/gale/lab/servers/work"
)

// Handler answers as package work says.
func Handler(o *work.Options) http.Handler {
	if o.To != "" {
		return proxy(o.To)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", greet)
	mux.HandleFunc("GET /fields", func(w http.ResponseWriter, r *http.Request) {
		for _, f := range work.Fields {
			w.Header().Set(f[0], f[1])
		}
		greet(w, r)
	})
	mux.HandleFunc("GET /sleep", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(work.Pause)
		greet(w, r)
	})
	mux.HandleFunc("POST /echo", echo)
	mux.HandleFunc("POST /upload", upload)
	mux.HandleFunc("POST /collect", collect)
	mux.HandleFunc("GET /json", func(w http.ResponseWriter, r *http.Request) { answer(w, work.JSONType, work.JSON()) })
	mux.HandleFunc("GET /compress", compress)
	mux.HandleFunc("GET /ws", echoMessages)
	if o.Files != "" {
		files := http.StripPrefix("/files/", http.FileServer(http.Dir(o.Files)))
		mux.HandleFunc("GET /files/", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Server", work.Server)
			files.ServeHTTP(w, r)
		})
	}
	return mux
}

func greet(w http.ResponseWriter, _ *http.Request) {
	head(w, work.PlainText, len(work.Greeting))
	_, _ = io.WriteString(w, work.Greeting)
}

func answer(w http.ResponseWriter, contentType string, body []byte) {
	head(w, contentType, len(body))
	_, _ = w.Write(body)
}

func head(w http.ResponseWriter, contentType string, length int) {
	h := w.Header()
	h.Set("Server", work.Server)
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(length))
}

// echo reads the whole body first, as the other servers do.
func echo(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, max(r.ContentLength, 0))
	if _, err := io.ReadFull(r.Body, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, work.Binary, body)
}

func upload(w http.ResponseWriter, r *http.Request) {
	n, err := work.Count(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, work.PlainText, n)
}

// collect reads the body in the way that is usual.
func collect(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, work.PlainText, strconv.AppendInt(nil, int64(len(body)), 10))
}

var encoders = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, work.GzipLevel)
	if err != nil {
		panic(err) // the level is a valid constant
	}
	return z
}}

func compress(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Server", work.Server)
	h.Set("Content-Type", work.PlainText)
	h.Set("Content-Encoding", "gzip")
	h.Set("Vary", "Accept-Encoding")
	z := encoders.Get().(*gzip.Writer)
	defer encoders.Put(z)
	z.Reset(w)
	_, _ = z.Write(work.Long)
	_ = z.Close()
}

func proxy(to string) http.Handler {
	target := &url.URL{Scheme: "http", Host: to}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
		},
		Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true},
	}
}
