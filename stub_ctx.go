package gale

import (
	"crypto/tls"
	"io"
	"mime/multipart"
	"net"
	"time"
)

func (*RequestCtx) Conn() net.Conn { panic("stub") }

func (*RequestCtx) ConnID() uint64 { panic("stub") }

func (*RequestCtx) ConnRequestNum() uint64 { panic("stub") }

func (*RequestCtx) ConnTime() time.Time { panic("stub") }

func (*RequestCtx) Deadline() (time.Time, bool) { panic("stub") }

func (*RequestCtx) Done() <-chan struct{} { panic("stub") }

func (*RequestCtx) EarlyHints() error { panic("stub") }

func (*RequestCtx) Err() error { panic("stub") }

func (*RequestCtx) Error(string, int) { panic("stub") }

func (*RequestCtx) FormFile(string) (*multipart.FileHeader, error) { panic("stub") }

func (*RequestCtx) FormValue(string) []byte { panic("stub") }

func (*RequestCtx) Hijack(HijackHandler) { panic("stub") }

func (*RequestCtx) HijackSetNoResponse(bool) { panic("stub") }

func (*RequestCtx) Hijacked() bool { panic("stub") }

func (*RequestCtx) Host() []byte { panic("stub") }

func (*RequestCtx) ID() uint64 { panic("stub") }

func (*RequestCtx) IfModifiedSince(time.Time) bool { panic("stub") }

func (*RequestCtx) Init(*Request, net.Addr, Logger) { panic("stub") }

func (*RequestCtx) Init2(net.Conn, Logger, bool) { panic("stub") }

func (*RequestCtx) IsBodyStream() bool { panic("stub") }

func (*RequestCtx) IsConnect() bool { panic("stub") }

func (*RequestCtx) IsDelete() bool { panic("stub") }

func (*RequestCtx) IsGet() bool { panic("stub") }

func (*RequestCtx) IsHead() bool { panic("stub") }

func (*RequestCtx) IsOptions() bool { panic("stub") }

func (*RequestCtx) IsPatch() bool { panic("stub") }

func (*RequestCtx) IsPost() bool { panic("stub") }

func (*RequestCtx) IsPut() bool { panic("stub") }

func (*RequestCtx) IsQuery() bool { panic("stub") }

func (*RequestCtx) IsTLS() bool { panic("stub") }

func (*RequestCtx) IsTrace() bool { panic("stub") }

func (*RequestCtx) LastTimeoutErrorResponse() *Response { panic("stub") }

func (*RequestCtx) LocalAddr() net.Addr { panic("stub") }

func (*RequestCtx) LocalIP() net.IP { panic("stub") }

func (*RequestCtx) Logger() Logger { panic("stub") }

func (*RequestCtx) Method() []byte { panic("stub") }

func (*RequestCtx) MultipartForm() (*multipart.Form, error) { panic("stub") }

func (*RequestCtx) MultipartFormWithLimit(int) (*multipart.Form, error) { panic("stub") }

func (*RequestCtx) NotFound() { panic("stub") }

func (*RequestCtx) NotModified() { panic("stub") }

func (*RequestCtx) Path() []byte { panic("stub") }

func (*RequestCtx) PostArgs() *Args { panic("stub") }

func (*RequestCtx) PostBody() []byte { panic("stub") }

func (*RequestCtx) QueryArgs() *Args { panic("stub") }

func (*RequestCtx) Redirect(string, int) { panic("stub") }

func (*RequestCtx) RedirectBytes([]byte, int) { panic("stub") }

func (*RequestCtx) Referer() []byte { panic("stub") }

func (*RequestCtx) RemoteAddr() net.Addr { panic("stub") }

func (*RequestCtx) RemoteIP() net.IP { panic("stub") }

func (*RequestCtx) RemoveUserValue(any) { panic("stub") }

func (*RequestCtx) RemoveUserValueBytes([]byte) { panic("stub") }

func (*RequestCtx) RequestBodyStream() io.Reader { panic("stub") }

func (*RequestCtx) RequestURI() []byte { panic("stub") }

func (*RequestCtx) ResetBody() { panic("stub") }

func (*RequestCtx) ResetUserValues() { panic("stub") }

func (*RequestCtx) SendFile(string) { panic("stub") }

func (*RequestCtx) SendFileBytes([]byte) { panic("stub") }

func (*RequestCtx) SendFileLiteral(string) { panic("stub") }

func (*RequestCtx) SetBody([]byte) { panic("stub") }

func (*RequestCtx) SetBodyStream(io.Reader, int) { panic("stub") }

func (*RequestCtx) SetBodyStreamWriter(StreamWriter) { panic("stub") }

func (*RequestCtx) SetBodyString(string) { panic("stub") }

func (*RequestCtx) SetConnectionClose() { panic("stub") }

func (*RequestCtx) SetContentType(string) { panic("stub") }

func (*RequestCtx) SetContentTypeBytes([]byte) { panic("stub") }

func (*RequestCtx) SetReadDeadline(time.Time) error { panic("stub") }

func (*RequestCtx) SetRemoteAddr(net.Addr) { panic("stub") }

func (*RequestCtx) SetStatusCode(int) { panic("stub") }

func (*RequestCtx) SetUserValue(any, any) { panic("stub") }

func (*RequestCtx) SetUserValueBytes([]byte, any) { panic("stub") }

func (*RequestCtx) SetWriteDeadline(time.Time) error { panic("stub") }

func (*RequestCtx) String() string { panic("stub") }

func (*RequestCtx) Success(string, []byte) { panic("stub") }

func (*RequestCtx) SuccessString(string, string) { panic("stub") }

func (*RequestCtx) TLSConnectionState() *tls.ConnectionState { panic("stub") }

func (*RequestCtx) Time() time.Time { panic("stub") }

func (*RequestCtx) TimeoutError(string) { panic("stub") }

func (*RequestCtx) TimeoutErrorWithCode(string, int) { panic("stub") }

func (*RequestCtx) TimeoutErrorWithResponse(*Response) { panic("stub") }

func (*RequestCtx) URI() *URI { panic("stub") }

func (*RequestCtx) UserAgent() []byte { panic("stub") }

func (*RequestCtx) UserValue(any) any { panic("stub") }

func (*RequestCtx) UserValueBytes([]byte) any { panic("stub") }

func (*RequestCtx) Value(any) any { panic("stub") }

func (*RequestCtx) VisitUserValues(func([]byte, any)) { panic("stub") }

func (*RequestCtx) VisitUserValuesAll(func(any, any)) { panic("stub") }

func (*RequestCtx) Write([]byte) (int, error) { panic("stub") }

func (*RequestCtx) WriteString(string) (int, error) { panic("stub") }

type RequestCtx struct {
	Request  Request
	Response Response
}
