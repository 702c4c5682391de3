package gale

// ConnectProtocol returns the protocol of an extended CONNECT (RFC 8441), such as
// "websocket", or "" for any other request. In a server only requests of HTTP/2 have one;
// see HTTP2Config.WebSocket.
func (req *Request) ConnectProtocol() string {
	used(req.loan)
	return req.protocol
}

// SetConnectProtocol makes a request for [HostClient.OpenStream] an extended CONNECT for
// the protocol, such as "websocket" (RFC 8441 section 4). The method is then CONNECT, and
// the URI has a path. The empty string makes it an ordinary request again; its method must
// be set.
func (req *Request) SetConnectProtocol(protocol string) {
	used(req.loan)
	if req.protocol = protocol; protocol != "" {
		req.Header.SetMethod(MethodConnect)
	}
}
