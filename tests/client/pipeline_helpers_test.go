package client

import (
	"bufio"
	"net"
)

// pipeAnswerAll answers requests without a body, and without allocating.
func pipeAnswerAll(_ int, nc net.Conn, br *bufio.Reader) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello")
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) == 2 {
			nc.Write(answer)
		}
	}
}
