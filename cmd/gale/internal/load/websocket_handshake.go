package load

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/wsframe"
)

// appendKey appends a new value of Sec-WebSocket-Key.
func appendKey(dst []byte) []byte {
	var nonce [16]byte
	_, _ = rand.Read(nonce[:])
	return base64.StdEncoding.AppendEncode(dst, nonce[:])
}

// appendHandshake appends the request that opens a WebSocket (RFC 6455 section 4.1), which has
// the target and the fields of h and no body. It changes h.
func appendHandshake(dst []byte, h *head.Request, key []byte) []byte {
	h.ContentLength, h.LengthSet = 0, false
	dst = h1.AppendRequestHead(dst, h)
	dst = dst[:len(dst)-len("\r\n")]
	dst = append(dst, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "...)
	dst = append(dst, key...)
	return append(dst, "\r\n\r\n"...)
}

// Upgrade opens a WebSocket on conn with the target and the fields of h, which it changes. The
// error says why the server doesn't open one.
func Upgrade(conn io.ReadWriter, h *head.Request) error {
	key := appendKey(nil)
	if _, err := conn.Write(appendHandshake(nil, h, key)); err != nil {
		return err
	}
	var answer head.Response
	var text []byte
	buf := make([]byte, readBuffer)
	for {
		n, err := conn.Read(buf)
		text = append(text, buf[:n]...)
		for len(text) > 0 {
			size, invalid := h1.ParseResponse(text, &answer.ResponseHead, responseLimits)
			if invalid == h1.ErrPartial {
				break
			}
			if invalid != nil {
				return invalid
			}
			if s := answer.Status; s >= 200 || s == 101 {
				return checkUpgrade(&answer.ResponseHead, key)
			}
			answer.Reset()
			text = text[size:]
		}
		answer.Reset()
		switch {
		case err == io.EOF:
			return errNoUpgrade
		case err != nil:
			return err
		}
	}
}

var errNoUpgrade = errors.New("the server closed the connection instead of answering the handshake")

// checkUpgrade returns an error if h doesn't open a WebSocket for a handshake with this key
// (RFC 6455 section 4.1).
func checkUpgrade(h *msg.ResponseHead, key []byte) error {
	field := func(name string) []byte { return h.PeekID(msg.Lookup([]byte(name)), []byte(name)) }
	has := func(id msg.ID, elem string) bool { return bytesconv.HasElement(h.AppendValues(nil, id, nil), elem) }
	switch {
	case h.Status != 101:
		return fmt.Errorf("the server answered the handshake with status %d", h.Status)
	case !has(msg.Upgrade, "websocket") || !has(msg.Connection, "upgrade"):
		return errors.New("the server switched to another protocol than WebSocket")
	case string(field("Sec-WebSocket-Accept")) != string(wsframe.AppendAccept(nil, key)):
		return errors.New("the server's answer to the handshake has a wrong Sec-WebSocket-Accept")
	case len(field("Sec-WebSocket-Extensions")) > 0:
		return errors.New("the server chose an extension that wasn't offered")
	}
	return nil
}

// closeText returns the code and the reason of a close frame.
func closeText(payload []byte) string {
	code, reason, err := wsframe.ParseClose(payload)
	if err != nil {
		return err.Error()
	}
	text := strconv.Itoa(int(code))
	if len(reason) > 0 {
		text += " " + string(reason)
	}
	return text
}
