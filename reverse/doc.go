// Package reverse is a reverse proxy: a [Proxy] is a handler that passes requests on to
// one or more upstream servers and sends their responses back to the client.
//
//	p := &reverse.Proxy{Upstreams: []string{"10.0.0.1:8080", "10.0.0.2:8080"}}
//	defer p.Close()
//	s := &gale.Server{Handler: p.Handler, StreamRequestBody: true}
//	log.Fatal(s.ListenAndServe(":8080"))
//
// Upstreams are asked over HTTP/1.1 or HTTP/2, see [Proxy.HTTP2].
//
// Bodies and trailer fields are streamed in both directions. The memory for a request
// doesn't grow with its body. A message that two servers could read differently is
// answered with 400 before the handler runs. Messages are parsed and written again,
// never copied from one connection to the other.
//
// Headers that concern one connection, such as Connection and Keep-Alive, are not passed
// on (RFC 9110 section 7.6.1). Neither are headers in which a client says where a request
// comes from, such as X-Forwarded-For, unless the client is in [Proxy.TrustedProxies].
//
// If an upstream can't be reached, the next one is tried, as long as no byte of the
// request was sent. A request without a body may be sent again to the same upstream, by
// the rules of [gale.HostClient.Do]. A request with a body is sent only once.
//
// The guide docs/guides/reverse-proxy.md has more examples. fasthttp has no such package.
package reverse
