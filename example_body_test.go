package gale_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/galehttp/gale"
)

func ExampleRequest_MultipartReader() {
	req := gale.AcquireRequest()
	defer gale.ReleaseRequest(req)
	req.Header.SetMultipartFormBoundary("x")
	upload := "--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\nhello\r\n--x--\r\n"
	req.SetBodyStream(strings.NewReader(upload), -1)

	parts, err := req.MultipartReader()
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		part, err := parts.NextPart()
		if err != nil {
			break // io.EOF after the last part
		}
		n, _ := io.Copy(io.Discard, part)
		fmt.Println(part.FormName(), part.FileName(), n)
	}
	// Output:
	// f a.txt 5
}

func ExampleResponse_SetBodyStreamWriter() {
	var resp gale.Response
	resp.SetBodyStreamWriter(func(w *bufio.Writer) {
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			if w.Flush() != nil {
				return // the client has gone
			}
		}
	})
	fmt.Printf("%q\n", resp.Body())
	// Output:
	// "data: 0\n\ndata: 1\n\ndata: 2\n\n"
}

func ExampleNewStreamReader() {
	r := gale.NewStreamReader(func(w *bufio.Writer) {
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(w, "line %d\n", i); err != nil {
				return
			}
		}
	})
	line, _ := bufio.NewReader(r).ReadString('\n')
	r.Close() // lets the writer end
	fmt.Print(line)
	// Output:
	// line 0
}

func ExampleRequest_Read() {
	in := "POST /form HTTP/1.1\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\nname=Gale"
	var req gale.Request
	if err := req.ReadLimitBody(bufio.NewReader(strings.NewReader(in)), 1<<20); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s %s\n", req.Header.Method(), req.URI(), req.PostArgs().Peek("name"))
	// Output:
	// POST http://example.com/form Gale
}

func ExampleResponse_Write() {
	var resp gale.Response
	resp.SetStatusCode(gale.StatusNotFound)
	resp.Header.Set("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
	resp.SetBodyString("no such thing")
	fmt.Println(strings.ReplaceAll(resp.String(), "\r", ""))
	// Output:
	// HTTP/1.1 404 Not Found
	// Date: Thu, 01 Jan 1970 00:00:00 GMT
	// Content-Type: text/plain; charset=utf-8
	// Content-Length: 13
	//
	// no such thing
}
