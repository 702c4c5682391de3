// Package reverse is a reverse proxy: a [Proxy] passes the requests of a server on to
// one or several upstream servers and their responses back.
//
//	p := &reverse.Proxy{Upstreams: []string{"10.0.0.1:8080", "10.0.0.2:8080"}}
//	defer p.Close()
//	s := &gale.Server{Handler: p.Handler, StreamRequestBody: true}
//	log.Fatal(s.ListenAndServe(":8080"))
//
// Bodies are streamed both ways, with trailer fields, in memory that doesn't grow with
// them. A message that two servers could read differently is answered with 400 before the
// handler runs, and what is passed on is written anew from its parts, never copied from
// the connection.
//
// Fields of one connection end here (RFC 9110 section 7.6.1), and so does what clients say
// of where a request comes from, unless they are in [Proxy.TrustedProxies].
//
// A request is sent to another upstream only if nothing of it was sent before. An
// upstream gets a request again by the rules of [gale.HostClient.Do] if the request has no
// body, and never if it has one.
//
// docs/guides/reverse-proxy.md has more. Nothing here has a counterpart in fasthttp.
package reverse
