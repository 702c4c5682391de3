package far

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// client is an HTTP/2 client for one request. It uses little CPU compared with the
// server: without a slow link the client of net/http would be the limit.
type client struct {
	c  *tls.Conn
	w  *bufio.Writer
	fr *http2.Framer
}

// clientWindow is the window of each download, and of the connection.
const clientWindow = 15 << 20

func dial(addr string) (*client, error) {
	c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(c, 64<<10)
	// A small buffer, since payloads are read directly.
	cl := &client{c: c, w: w, fr: http2.NewFramer(w, bufio.NewReaderSize(c, 4<<10))}
	cl.fr.SetReuseFrames()
	if _, err = w.WriteString(http2.ClientPreface); err == nil {
		err = cl.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: clientWindow})
	}
	if err == nil {
		err = cl.fr.WriteWindowUpdate(0, clientWindow-65535)
	}
	return cl, err
}

// head sends the head of a request.
func (c *client) head(method, path string, end bool, fields ...string) error {
	var b strings.Builder
	enc := hpack.NewEncoder(&b)
	all := append([]string{":method", method, ":scheme", "https", ":authority", "far", ":path", path}, fields...)
	for i := 0; i < len(all); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	err := c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(b.String()), EndHeaders: true, EndStream: end})
	if err == nil {
		err = c.w.Flush()
	}
	return err
}

// frames reads frames until the stream ends, and gives them to f.
func (c *client) frames(f func(http2.Frame) error) error {
	for {
		fr, err := c.fr.ReadFrame()
		if err != nil {
			return err
		}
		switch fr.(type) {
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return errors.New(fr.Header().String())
		}
		if err := f(fr); err != nil {
			return err
		}
		h := fr.Header()
		if h.Flags&http2.FlagDataEndStream != 0 && (h.Type == http2.FrameData || h.Type == http2.FrameHeaders) {
			return nil
		}
	}
}

// fastUpload is upload with client.
func fastUpload(addr string, n int64) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.c.Close()
	if err := c.head("POST", "/", false, "content-length", strconv.FormatInt(n, 10)); err != nil {
		return err
	}
	var mu sync.Mutex
	more := sync.NewCond(&mu)
	stream, conn := int64(65535), int64(65535)
	var answer strings.Builder
	ended := make(chan error, 1)
	over := false
	go func() {
		err := c.frames(func(f http2.Frame) error {
			mu.Lock()
			defer mu.Unlock()
			switch f := f.(type) {
			case *http2.SettingsFrame:
				if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
					stream += int64(v) - 65535
				}
			case *http2.WindowUpdateFrame:
				if f.StreamID == 0 {
					conn += int64(f.Increment)
				} else {
					stream += int64(f.Increment)
				}
			case *http2.DataFrame:
				answer.Write(f.Data())
			}
			more.Signal()
			return nil
		})
		mu.Lock()
		over = true
		more.Signal()
		mu.Unlock()
		ended <- err
	}()
	body := &blocks{left: n}
	b := make([]byte, 16<<10)
	for body.left > 0 {
		mu.Lock()
		for min(stream, conn) <= 0 && !over {
			if c.w.Buffered() > 0 {
				mu.Unlock()
				err := c.w.Flush()
				mu.Lock()
				if err != nil {
					mu.Unlock()
					return err
				}
				continue
			}
			more.Wait()
		}
		if over {
			mu.Unlock()
			return fmt.Errorf("the stream has ended early: %v", <-ended)
		}
		room := min(stream, conn, int64(len(b)))
		mu.Unlock()
		m, _ := body.Read(b[:room])
		mu.Lock()
		stream -= int64(m)
		conn -= int64(m)
		mu.Unlock()
		if err := c.fr.WriteData(1, body.left == 0, b[:m]); err != nil {
			return err
		}
	}
	if err := c.w.Flush(); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	if got := answer.String(); got != strconv.FormatInt(n, 10) {
		return fmt.Errorf("the answer is %q", got)
	}
	return nil
}

// fastDownload is download with client.
func fastDownload(addr string, n int64) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.c.Close()
	if err := c.head("GET", "/?n="+strconv.FormatInt(n, 10), true); err != nil {
		return err
	}
	got, credit := int64(0), uint32(0)
	err = c.frames(func(f http2.Frame) error {
		d, ok := f.(*http2.DataFrame)
		if !ok {
			return nil
		}
		var err error
		if got, err = checkPiece(d.Data(), got); err != nil {
			return err
		}
		if credit += uint32(len(d.Data())); credit < clientWindow/4 || got == n {
			return nil
		}
		if err = c.fr.WriteWindowUpdate(0, credit); err == nil {
			err = c.fr.WriteWindowUpdate(1, credit)
		}
		credit = 0
		if err == nil {
			err = c.w.Flush()
		}
		return err
	})
	if err == nil && got != n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
