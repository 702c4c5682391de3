// Package websocket tests package ws with peers that others have written, as servers and as
// clients: coder/websocket and gws, ws for Node, websockets for Python, and Chromium, also
// over HTTP/2. In addition, libraries that upgrade connections by themselves must go on to
// work on Gale, through adaptor.
//
// All servers, ours and theirs, answer on these paths; the first message of a client sets off
// what is not an echo:
//
//	/echo      send each message back
//	/deflate   the same, with compression if the client offers it
//	/ping      send a ping, and when the pong has come the message "pong " and the message
//	/close     close with the status code 4002 and the reason "enough"
//	/abort     end the connection without a close frame
//	/protocol  send the HTTP version of the request (ours only)
//
// A server tells how each connection has ended: "4001 bye" is a status code with its reason,
// and "aborted" an end without a close frame.
//
// The programs for Node and Python need what peers.sh installs into the folder that
// GALE_WEBSOCKET_PEERS names. What isn't installed is left out, with a message.
package websocket
