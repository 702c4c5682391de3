package galeutil_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// A server and a client of the same process, without a network.
func ExampleInmemoryListener() {
	ln := galeutil.NewInmemoryListener()
	go gale.Serve(ln, func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "Hello, %s!", ctx.QueryArgs().Peek("name"))
	})
	defer ln.Close()

	client := &http.Client{Transport: &http.Transport{DialContext: ln.DialContext}}
	resp, err := client.Get("http://server/?name=world")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body))
	// Output: 200 Hello, world!
}

// Writes don't wait for a reader, so one goroutine may talk to itself.
func ExamplePipeConns() {
	pc := galeutil.NewPipeConns()
	defer pc.Close()
	fmt.Fprintf(pc.Conn1(), "ping\n")
	line, _ := bufio.NewReader(pc.Conn2()).ReadString('\n')
	fmt.Printf("%q\n", line)
	// Output: "ping\n"
}
