package server

import (
	"reflect"
	"testing"

	"github.com/galehttp/gale"
)

// How what a method gives out by reference ends. The words of the table below.
const (
	byHandle = "a handle for one message: late calls return an error" // see server_lent_test.go
	byOwner  = "a part of the object itself, as its methods: the guard finds late uses"
	byBytes  = "yields or reads bytes of the message: the rule for []byte"
	forGood  = "belongs to the program, or changes no more"
	ofConn   = "the connection, which no other client gets"
)

// givenOut is what the methods of pooled objects give out by reference: pointers, interfaces,
// functions and channels. Plain []byte results are one rule: they are borrowed.
var givenOut = map[string]string{
	"Request.BodyStream":                  byHandle, // TestLentBodyIsOver
	"Request.MultipartReader":             byHandle, // TestLentBodyIsOver, TestLentPartsAreOver
	"Request.BodyWriter":                  byHandle, // TestLentWriterIsOver
	"Response.BodyWriter":                 byHandle, // TestLentWriterIsOver
	"RequestCtx.RequestBodyStream":        byHandle, // TestLentBodyIsOver
	"RequestCtx.MultipartReader":          byHandle, // as of Request
	"Response.BodyStream":                 byHandle, // a client makes one for each response; else it is the program's
	"Args.All":                            byBytes,
	"RequestCtx.Trailers":                 byBytes,
	"RequestHeader.All":                   byBytes,
	"RequestHeader.AllInOrder":            byBytes,
	"RequestHeader.Cookies":               byBytes,
	"RequestHeader.Trailers":              byBytes,
	"ResponseHeader.All":                  byBytes,
	"ResponseHeader.Cookies":              byBytes,
	"ResponseHeader.Trailers":             byBytes,
	"Request.PostArgs":                    byOwner,
	"Request.URI":                         byOwner,
	"RequestCtx.PostArgs":                 byOwner,
	"RequestCtx.QueryArgs":                byOwner,
	"RequestCtx.URI":                      byOwner,
	"URI.QueryArgs":                       byOwner,
	"RequestCtx.Logger":                   byOwner, // it logs with what the context has then
	"Request.MultipartForm":               forGood, // package mime/multipart makes it; the files on disk are removed
	"Request.MultipartFormWithLimit":      forGood,
	"RequestCtx.MultipartForm":            forGood,
	"RequestCtx.MultipartFormWithLimit":   forGood,
	"RequestCtx.FormFile":                 forGood, // as MultipartForm
	"Request.UserValue":                   forGood,
	"Request.UserValueBytes":              forGood,
	"RequestCtx.UserValue":                forGood,
	"RequestCtx.UserValueBytes":           forGood,
	"RequestCtx.Value":                    forGood,
	"RequestCtx.Context":                  forGood, // it doesn't refer to the RequestCtx
	"RequestCtx.Done":                     forGood, // a context whose channel was given out isn't used again
	"RequestCtx.Detach":                   forGood,
	"RequestCtx.LastTimeoutErrorResponse": forGood, // of a context that isn't used again
	"RequestCtx.TLSConnectionState":       forGood, // a copy
	"RequestCtx.LocalAddr":                forGood,
	"RequestCtx.RemoteAddr":               forGood,
	"Response.LocalAddr":                  forGood,
	"Response.RemoteAddr":                 forGood,
	// Programs ask for its type: *tls.Conn, *net.TCPConn, one of their own listener. So it
	// can't be a handle. An engine makes one object for each connection. Deadlines that are
	// set late may end a later request of the same connection.
	"RequestCtx.Conn":      ofConn,
	"RequestCtx.HijackNow": ofConn, // the program's from then on
}

// TestGivenOut checks that each method of a pooled object that gives out a reference is in
// the table: who adds one decides how it ends.
func TestGivenOut(t *testing.T) {
	seen := make(map[string]bool)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*gale.RequestCtx](), reflect.TypeFor[*gale.Request](), reflect.TypeFor[*gale.Response](), reflect.TypeFor[*gale.RequestHeader](),
		reflect.TypeFor[*gale.ResponseHeader](), reflect.TypeFor[*gale.URI](), reflect.TypeFor[*gale.Args](), reflect.TypeFor[*gale.Cookie](),
	} {
		for m := range typ.Methods() {
			name := typ.Elem().Name() + "." + m.Name
			for out := range m.Type.Outs() {
				if !refers(out) {
					continue
				}
				seen[name] = true
				if givenOut[name] == "" {
					t.Errorf("%s gives out a %v, and isn't in the table", name, out)
				}
			}
		}
	}
	for name := range givenOut {
		if !seen[name] {
			t.Errorf("%s is in the table, and gives out nothing by reference", name)
		}
	}
}

// refers reports whether a value of type t may refer to memory of the object that returned
// it, other than as plain bytes.
func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.Map, reflect.UnsafePointer:
		return true
	case reflect.Interface:
		return t != reflect.TypeFor[error]()
	case reflect.Slice, reflect.Array:
		return refers(t.Elem())
	}
	return false
}
