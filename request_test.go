package gale

import (
	"mime/multipart"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRequestReset(t *testing.T) {
	req := AcquireRequest()
	req.SetRequestURI("http://a.com/x")
	req.URI().SetPath("/y")
	req.SetBodyString("abc")
	req.PostArgs().Set("p", "1")
	req.SetUserValue("u", 1)
	req.SetTimeout(time.Second)
	req.UseHostHeader, req.DisableRedirectPathNormalizing = true, true
	req.form = &multipart.Form{}
	req.isTLS = true
	req.Reset()
	if len(req.Body()) != 0 || req.PostArgs().Len() != 0 || req.UserValue("u") != nil || req.GetTimeOut() != 0 ||
		req.UseHostHeader || req.DisableRedirectPathNormalizing || req.form != nil || req.URI().String() != "http:///" {
		t.Errorf("something is left: %q %q", req.Body(), req.URI())
	}
	ReleaseRequest(req)
}

// memoryOf returns the memory that v refers to and that Reset, a setter or the guard of
// lifetimes may overwrite: arrays of slices and what pointers lead to. Strings are
// constants or copies, and never change. Interfaces hold addresses, errors and user values,
// which the documentation says are shared.
func memoryOf(v reflect.Value, path string, into map[string][2]uintptr) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() != reflect.Func {
			into[path+"*"] = [2]uintptr{v.Pointer(), v.Pointer() + v.Type().Elem().Size()}
			memoryOf(v.Elem(), path, into)
		}
	case reflect.Slice:
		if v.Cap() > 0 {
			into[path] = [2]uintptr{v.Pointer(), v.Pointer() + uintptr(v.Cap())*v.Type().Elem().Size()}
		}
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				memoryOf(v.Index(i), path+"[]", into)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			memoryOf(v.Field(i), path+"."+v.Type().Field(i).Name, into)
		}
	case reflect.Array:
		for i := range v.Len() {
			memoryOf(v.Index(i), path, into)
		}
	}
}

// A copy shares no memory with its source.
func TestCopiesShareNothing(t *testing.T) {
	request := func() *Request {
		var req Request
		h := &req.Header
		h.SetMethod("POST")
		req.SetRequestURI("http://alice0001/alice0001?user=alice0001#alice0001")
		h.Set("X-User", "alice0001")
		h.SetCookie("user", "alice0001")
		h.SetContentType("application/x-www-form-urlencoded")
		_ = h.AddTrailerValue("X-T", "alice0001")
		req.URI().SetUsername("alice0001")
		_ = req.URI().QueryArgs().Len()
		req.SetBodyString("user=alice0001")
		_ = req.PostArgs().Len()
		req.SetUserValue("user", "alice0001")
		_, _, _, _ = h.Header(), h.PeekAll("X-User"), req.URI().FullURI(), h.String()
		return &req
	}
	response := func() *Response {
		var resp Response
		resp.SetStatusCode(404)
		h := &resp.Header
		h.SetStatusMessage([]byte("alice0001"))
		h.SetServer("alice0001")
		h.SetContentType("alice/0001")
		h.Set("X-User", "alice0001")
		_ = h.AddTrailerValue("X-T", "alice0001")
		var c Cookie
		c.SetKey("user")
		c.SetValue("alice0001")
		h.SetCookie(&c)
		resp.SetBodyString("alice0001")
		_, _ = h.Header(), h.PeekAll("X-User")
		return &resp
	}
	cookie := func() *Cookie {
		var c Cookie
		c.SetKey("alice0001")
		c.SetValue("alice0001")
		c.SetDomain("alice0001")
		c.SetPath("/alice0001")
		_ = c.Cookie()
		return &c
	}
	for name, pair := range map[string]func() (src, dst any){
		"Request": func() (any, any) { var dst Request; src := request(); src.CopyTo(&dst); return src, &dst },
		"Request raw": func() (any, any) {
			var dst Request
			src := request()
			src.SetBodyRaw([]byte("alice0001"))
			src.CopyTo(&dst)
			return src, &dst
		},
		"Request form": func() (any, any) {
			var dst Request
			src := request()
			if err := src.setForm(&multipart.Form{Value: map[string][]string{"user": {"alice0001"}}}, false); err != nil {
				t.Errorf("the form can't be set: %v", err)
			}
			src.CopyTo(&dst)
			if s := string(dst.Body()); !strings.Contains(s, "alice0001") {
				t.Errorf("the form was not copied: %q", s)
			}
			src.form = nil
			return src, &dst
		},
		"Response": func() (any, any) { var dst Response; src := response(); src.CopyTo(&dst); return src, &dst },
		"Response raw": func() (any, any) {
			var dst Response
			src := response()
			src.SetBodyRaw([]byte("alice0001"))
			src.CopyTo(&dst)
			return src, &dst
		},
		"Response shared": func() (any, any) {
			var dst Response
			src := response()
			src.setBodyShared([]byte("alice0001"))
			src.CopyTo(&dst)
			return src, &dst
		},
		"RequestHeader": func() (any, any) { var dst RequestHeader; src := &request().Header; src.CopyTo(&dst); return src, &dst },
		"ResponseHeader": func() (any, any) {
			var dst ResponseHeader
			src := &response().Header
			src.CopyTo(&dst)
			return src, &dst
		},
		"URI":    func() (any, any) { var dst URI; src := request().URI(); src.CopyTo(&dst); return src, &dst },
		"Args":   func() (any, any) { var dst Args; src := request().PostArgs(); src.CopyTo(&dst); return src, &dst },
		"Cookie": func() (any, any) { var dst Cookie; src := cookie(); dst.CopyTo(src); return src, &dst },
	} {
		for _, used := range []bool{false, true} {
			src, dst := pair()
			if used { // the destination has memory of an earlier use
				_, dst = pair()
				switch s := src.(type) {
				case *Request:
					s.CopyTo(dst.(*Request))
				case *Response:
					s.CopyTo(dst.(*Response))
				case *RequestHeader:
					s.CopyTo(dst.(*RequestHeader))
				case *ResponseHeader:
					s.CopyTo(dst.(*ResponseHeader))
				case *URI:
					s.CopyTo(dst.(*URI))
				case *Args:
					s.CopyTo(dst.(*Args))
				case *Cookie:
					dst.(*Cookie).CopyTo(s)
				}
			}
			of, to := map[string][2]uintptr{}, map[string][2]uintptr{}
			memoryOf(reflect.ValueOf(src), name, of)
			memoryOf(reflect.ValueOf(dst), name, to)
			if len(of) < 3 || len(to) < 2 {
				t.Errorf("%s: only %d and %d pieces of memory were found", name, len(of), len(to))
			}
			for a, m := range of {
				for b, n := range to {
					if m[0] < n[1] && n[0] < m[1] {
						t.Errorf("%s: %s of the source is %s of the copy", name, a, b)
					}
				}
			}
		}
	}
}

// What a copy has is still there when its source was changed, in whatever form the body
// was; streams and user values are not copied.
func TestCopyOutlivesSource(t *testing.T) {
	for name, set := range map[string]struct {
		req  func(*Request)
		resp func(*Response)
		body string
	}{
		"bytes":  {func(r *Request) { r.SetBodyString("alice0001") }, func(r *Response) { r.SetBodyString("alice0001") }, "alice0001"},
		"raw":    {func(r *Request) { r.SetBodyRaw([]byte("alice0001")) }, func(r *Response) { r.SetBodyRaw([]byte("alice0001")) }, "alice0001"},
		"stream": {func(r *Request) { r.SetBodyStream(strings.NewReader("alice0001"), -1) }, func(r *Response) { r.SetBodyStream(strings.NewReader("alice0001"), -1) }, ""},
		"read stream": {func(r *Request) { r.SetBodyStream(strings.NewReader("alice0001"), -1); r.Body() },
			func(r *Response) { r.SetBodyStream(strings.NewReader("alice0001"), -1); r.Body() }, "alice0001"},
	} {
		var req, reqCopy Request
		var resp, respCopy Response
		req.SetRequestURI("/alice0001")
		resp.Header.Set("X-User", "alice0001")
		req.SetUserValue("user", "alice0001")
		set.req(&req)
		set.resp(&resp)
		req.CopyTo(&reqCopy)
		resp.CopyTo(&respCopy)
		wipe := func(b []byte) {
			b = b[:cap(b)]
			for i := range b {
				b[i] = '!'
			}
		}
		wipe(req.Header.s.Buf)
		wipe(resp.Header.s.Buf)
		wipe(req.uri.buf)
		for _, c := range []*content{&req.content, &resp.content} {
			wipe(c.bodyRaw)
			if c.body != nil {
				wipe(c.body.B)
			}
		}
		if string(reqCopy.URI().Path()) != "/alice0001" || string(reqCopy.Body()) != set.body || reqCopy.UserValue("user") != nil || reqCopy.IsBodyStream() {
			t.Errorf("%s: the copy is %q", name, reqCopy.String())
		}
		if string(respCopy.Header.Peek("X-User")) != "alice0001" || string(respCopy.Body()) != set.body || respCopy.IsBodyStream() {
			t.Errorf("%s: the copy is %q", name, respCopy.String())
		}
	}
}
