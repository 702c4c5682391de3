package fiber

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// patience is how long a server may be silent: longer for requests that both should answer.
func (r *request) patience() time.Duration {
	if r.silent {
		return 2 * time.Second
	}
	return time.Minute
}

// cut in the bytes of a request separates what is written by different calls.
const cut = "<cut>"

// asked in the bytes of a request is where a client waits for a 100.
const asked = "<100>"

// probe is sent after the answers to a request, to see whether the connection was kept.
const probe = "GET /plain HTTP/1.1\r\nHost: probe\r\n\r\n"

// An answer is a response as it was sent, in parts.
type answer struct {
	interim string   // heads of responses with a status of 1xx
	line    string   // the status line
	fields  []string // lines of the header section
	body    string   // as it was sent, with the lines of chunks
	end     string   // why the response ended early, or nothing
}

func (a answer) String() string {
	var b strings.Builder
	b.WriteString(a.interim + a.line + "\n")
	for _, f := range a.fields {
		b.WriteString(f + "\n")
	}
	fmt.Fprintf(&b, "\n%.3000q%s", a.body, a.end)
	return b.String()
}

// field returns the value of the first field of that name, and whether there is one.
func (a answer) field(name string) (string, bool) {
	if i := a.index(name); i >= 0 {
		return strings.TrimSpace(a.fields[i][len(name)+1:]), true
	}
	return "", false
}

// index returns the place of the first field of that name, -1 if there is none.
func (a answer) index(name string) int {
	for i, f := range a.fields {
		if len(f) > len(name) && f[len(name)] == ':' && strings.EqualFold(f[:len(name)], name) {
			return i
		}
	}
	return -1
}

// A transcript is what a server said on one connection.
type transcript struct {
	answers []answer
	end     string // what became of the connection
}

// equal compares all that was sent. Texts for people have the beginnings of long bodies.
func (t transcript) equal(u transcript) bool {
	return t.end == u.end && slices.EqualFunc(t.answers, u.answers, answer.equal)
}

func (a answer) equal(b answer) bool {
	return a.interim == b.interim && a.line == b.line && slices.Equal(a.fields, b.fields) && a.body == b.body && a.end == b.end
}

func (t transcript) String() string {
	var b strings.Builder
	for _, a := range t.answers {
		b.WriteString(a.String() + "\n")
	}
	return b.String() + "(" + t.end + ")"
}

var requestLine = regexp.MustCompile(`(?m)^([A-Z]+) \S+ HTTP/1\.[01]\r$`)

// interim is the status line of a response that another one follows.
var interim = regexp.MustCompile(`^HTTP/1\.1 1([1-9][0-9]|0[02-9]) `)

// ask sends the requests of r to a server and reads the answers.
func ask(addr string, r *request) (transcript, error) {
	var t transcript
	conn, err := net.Dial("tcp4", addr)
	if err != nil {
		return t, err
	}
	defer conn.Close()
	br := bufio.NewReader(conn)
	for _, send := range r.send {
		var methods []string
		for _, m := range requestLine.FindAllStringSubmatch(strings.NewReplacer(cut, "", asked, "").Replace(send), -1) {
			methods = append(methods, m[1])
		}
		for len(methods) < max(1, r.answers) {
			methods = append(methods, "GET")
		}
		if r.answers > 0 {
			methods = methods[:r.answers]
		}
		var early string
		if before, after, ok := strings.Cut(send, asked); ok {
			if _, err := io.WriteString(conn, before); err != nil {
				return t, err
			}
			a, err := r.readHead(conn, br)
			if early, send = a.line+"\n"+strings.Join(a.fields, "\n")+"\n", after; err != nil {
				t.end = ending(err)
				return t, nil
			}
		}
		for part := range strings.SplitSeq(send, cut) {
			if _, err := io.WriteString(conn, part); err != nil {
				break // the server has closed the connection: its answer says why
			}
		}
		for _, method := range methods {
			a, err := r.readAnswer(conn, br, method)
			a.interim, early = early+a.interim, ""
			if a.line != "" || a.interim != "" {
				t.answers = append(t.answers, a)
			}
			if err != nil {
				t.end = ending(err)
				return t, nil
			}
			if v, _ := a.field("Connection"); strings.EqualFold(v, "close") {
				t.end = "says close, then " + r.readEnd(conn, br)
				return t, nil
			}
		}
	}
	if _, err := io.WriteString(conn, probe); err != nil {
		t.end = "closed"
		return t, nil
	}
	a, err := r.readAnswer(conn, br, "GET")
	switch {
	case a.line != "" && a.body == "hello":
		t.end = "open"
	case a.line != "":
		t.answers = append(t.answers, a)
		t.end = "the probe got that answer"
	default:
		t.end = ending(err)
	}
	return t, nil
}

// ending says why a connection gave no more bytes. Whether a server that closes it resets it
// depends on what it has not read.
func ending(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "silent"
	}
	return "closed"
}

// readEnd reads until the end of the connection.
func (r *request) readEnd(conn net.Conn, br *bufio.Reader) string {
	conn.SetReadDeadline(time.Now().Add(r.patience()))
	rest, err := io.ReadAll(br)
	s := "closed"
	if err != nil {
		s = ending(err)
	}
	if len(rest) > 0 {
		s = fmt.Sprintf("%q, ", rest) + s
	}
	return s
}

// readHead reads the head of a response.
func (r *request) readHead(conn net.Conn, br *bufio.Reader) (answer, error) {
	conn.SetReadDeadline(time.Now().Add(r.patience()))
	var a answer
	for first := true; ; first = false {
		s, err := br.ReadString('\n')
		if err != nil {
			if !first || s != "" {
				a.end = " broken off"
			}
			return a, err
		}
		s = strings.TrimSuffix(s, "\r\n")
		switch {
		case first:
			a.line = s
		case s == "":
			return a, nil
		default:
			a.fields = append(a.fields, s)
		}
	}
}

// readAnswer reads a response to a request with that method.
func (r *request) readAnswer(conn net.Conn, br *bufio.Reader, method string) (answer, error) {
	a, err := r.readHead(conn, br)
	for err == nil && interim.MatchString(a.line) {
		before := a.interim + a.line + "\n" + strings.Join(a.fields, "\n") + "\n"
		a, err = r.readHead(conn, br)
		a.interim = before
	}
	if err != nil {
		return a, err
	}
	var body bytes.Buffer
	defer func() { a.body = body.String() }()
	_, status, _ := strings.Cut(a.line, " ")
	status, _, _ = strings.Cut(status, " ")
	if method == "HEAD" || status == "204" || status == "304" {
		return a, nil
	}
	fail := func(err error) (answer, error) {
		if err != nil {
			a.end = " broken off"
		}
		a.body = body.String()
		return a, err
	}
	if te, ok := a.field("Transfer-Encoding"); ok && te == "chunked" {
		for {
			s, err := br.ReadString('\n')
			body.WriteString(s)
			if err != nil {
				return fail(err)
			}
			n, err := strconv.ParseInt(strings.TrimSpace(s), 16, 64)
			if err != nil {
				return fail(err)
			}
			if n == 0 {
				break
			}
			if _, err := io.CopyN(&body, br, n+2); err != nil {
				return fail(err)
			}
		}
		for {
			s, err := br.ReadString('\n')
			body.WriteString(s)
			if err != nil || s == "\r\n" {
				return fail(err)
			}
		}
	}
	if cl, ok := a.field("Content-Length"); ok {
		n, err := strconv.ParseInt(cl, 10, 64)
		if err == nil {
			_, err = io.CopyN(&body, br, n)
		}
		return fail(err)
	}
	_, err = io.Copy(&body, br)
	a.body = body.String()
	if err == nil {
		err = io.EOF
	}
	return a, err
}
