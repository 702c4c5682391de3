package requests

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/galehttp/gale/cmd/gale/internal/load"
)

const users = "user,token,path\nann,t1,/a?x=1\n\"b/ o&\",t22,/b\n"

// A request is the same on the wire as the one that was asked for.
func TestRequests(t *testing.T) {
	file := writeFile(t, "body.txt", "from {{user}}")
	const usual = "User-Agent: test\r\nHost: example.com:81\r\n"
	for _, c := range []struct {
		name string
		spec Spec
		data bool
		want []string // of the first requests
	}{
		{"plain", Spec{Target: "/a?b=c"}, false, []string{
			"GET /a?b=c HTTP/1.1\r\n" + usual + "Accept: */*\r\n\r\n"}},
		{"no path", Spec{Target: "?b#c"}, false, []string{
			"GET /?b HTTP/1.1\r\n" + usual + "Accept: */*\r\n\r\n"}},
		{"odd path", Spec{Target: "/a b/ü\"%41"}, false, []string{
			"GET /a%20b/%C3%BC%22%41 HTTP/1.1\r\n" + usual + "Accept: */*\r\n\r\n"}},
		{"fields", Spec{Fields: []string{"x-odd: 1", "X-Odd:2", "accept:", "Host: h", "user-agent: me"}}, false, []string{
			"GET / HTTP/1.1\r\nUser-Agent: me\r\nHost: h\r\nx-odd: 1\r\nX-Odd: 2\r\n\r\n"}},
		{"cookies", Spec{Cookies: []string{"a=b", "c=d=e"}}, false, []string{
			"GET / HTTP/1.1\r\n" + usual + "Accept: */*\r\nCookie: a=b; c=d=e\r\n\r\n"}},
		{"cookies of both kinds", Spec{Fields: []string{"cookie: x=y"}, Cookies: []string{"a=b"}}, false, []string{
			"GET / HTTP/1.1\r\n" + usual + "Accept: */*\r\ncookie: x=y; a=b\r\n\r\n"}},
		{"body", Spec{Method: "POST", Fields: []string{"Content-Type: text/plain"}, Body: Body{Text: "hi"}}, false, []string{
			"POST / HTTP/1.1\r\n" + usual + "Content-Type: text/plain\r\nContent-Length: 2\r\nAccept: */*\r\n\r\nhi"}},
		{"no body", Spec{Method: "POST"}, false, []string{
			"POST / HTTP/1.1\r\n" + usual + "Content-Length: 0\r\nAccept: */*\r\n\r\n"}},
		{"body that isn't a template", Spec{Method: "PUT", Fields: []string{"Content-Type: a/b"}, Body: Body{File: file}}, false, []string{
			"PUT / HTTP/1.1\r\n" + usual + "Content-Type: a/b\r\nContent-Length: 13\r\nAccept: */*\r\n\r\nfrom {{user}}"}},
		{"values", Spec{Method: "POST", Target: "/u/{{user}}/x?q={{ user }}&t={{token}}", Fields: []string{"X-Token: <{{token}}>", "Content-Type: a/b"}, Body: Body{File: file}}, true, []string{
			"POST /u/ann/x?q=ann&t=t1 HTTP/1.1\r\n" + usual + "Content-Type: a/b\r\nContent-Length: 8\r\nAccept: */*\r\nX-Token: <t1>\r\n\r\nfrom ann",
			"POST /u/b/%20o%26/x?q=b%2F%20o%26&t=t22 HTTP/1.1\r\n" + usual + "Content-Type: a/b\r\nContent-Length: 10\r\nAccept: */*\r\nX-Token: <t22>\r\n\r\nfrom b/ o&",
			"POST /u/ann/x?q=ann&t=t1 HTTP/1.1\r\n" + usual + "Content-Type: a/b\r\nContent-Length: 8\r\nAccept: */*\r\nX-Token: <t1>\r\n\r\nfrom ann",
		}},
		{"whole targets", Spec{Target: "{{path|raw}}"}, true, []string{
			"GET /a?x=1 HTTP/1.1\r\n" + usual + "Accept: */*\r\n\r\n",
			"GET /b HTTP/1.1\r\n" + usual + "Accept: */*\r\n\r\n"}},
		{"a target that begins with a value", Spec{Target: "{{user}}", Cookies: []string{"t={{token}}"}}, true, []string{
			"GET /ann HTTP/1.1\r\n" + usual + "Accept: */*\r\nCookie: t=t1\r\n\r\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.spec
			s.Host, s.UserAgent = "example.com:81", "test"
			if s.Method == "" {
				s.Method = "GET"
			}
			if c.data {
				s.Data = readData(t, users, false)
			}
			src, err := New(&s)
			if err != nil {
				t.Fatal(err)
			}
			if (src.Fixed() != nil) == c.data {
				t.Errorf("fixed: %v", src.Fixed() != nil)
			}
			var again load.Request // one that is used for all
			for n, want := range c.want {
				if got := sorted(wire(src, int64(n))); got != sorted(want) {
					t.Errorf("request %d:\n%q, want\n%q", n, got, want)
				}
				src.Fill(&again, int64(n))
				if string(again.Body) != want[strings.Index(want, "\r\n\r\n")+4:] {
					t.Errorf("request %d: body %q", n, again.Body)
				}
			}
		})
	}
}

// sorted returns a request whose fields are in the order of the alphabet.
func sorted(request string) string {
	line, rest, _ := strings.Cut(request, "\r\n")
	fields, body, _ := strings.Cut(rest, "\r\n\r\n")
	lines := strings.Split(fields, "\r\n")
	for i := range lines {
		for j := range i {
			if lines[i] < lines[j] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return line + "\n" + strings.Join(lines, "\n") + "\n\n" + body
}

// What net/http reads is the form that was asked for.
func TestForm(t *testing.T) {
	file := writeFile(t, "photo.bin", "{{user}}\x00\r\n--")
	src, err := New(&Spec{
		Method: "POST", Host: "h", Target: "/", UserAgent: "test", Data: readData(t, users, false),
		Body: Body{Form: []string{"name={{user}}", "plain=a=b", "file=@" + file}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, user := range []string{"ann", "b/ o&"} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(wire(src, int64(n)))))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Fatal(err)
		}
		if r.FormValue("name") != user || r.FormValue("plain") != "a=b" {
			t.Errorf("request %d: %v", n, r.MultipartForm.Value)
		}
		f, h, err := r.FormFile("file")
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(f); string(text) != "{{user}}\x00\r\n--" || h.Filename != "photo.bin" {
			t.Errorf("request %d: %q in %q", n, text, h.Filename)
		}
	}
}

// Rows at random come all, and in the same order in each run.
func TestRandomRows(t *testing.T) {
	data := readData(t, "n\n1\n2\n3\n4\n", true)
	src, err := New(&Spec{Method: "GET", Host: "h", Target: "/{{n}}", UserAgent: "test", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for n := range int64(400) {
		first := wire(src, n)
		if again := wire(src, n); again != first {
			t.Fatalf("request %d is %q and then %q", n, first, again)
		}
		counts[first]++
	}
	if len(counts) != 4 {
		t.Errorf("%d different requests", len(counts))
	}
	for r, n := range counts {
		if n < 50 || n > 150 {
			t.Errorf("%d of 400 are %q", n, r)
		}
	}
}

// What is wrong is found when the source is made, and the error says what to do.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		spec Spec
		data string
		want string
	}{
		{"method", Spec{Method: "GET /"}, "", "one word"},
		{"empty method", Spec{Method: " "}, "", "one word"},
		{"tunnel", Spec{Method: "CONNECT"}, "", "another method"},
		{"body of TRACE", Spec{Method: "TRACE", Body: Body{Text: "a"}}, "", "leave the body out"},
		{"field without a colon", Spec{Fields: []string{"X"}}, "", "'Name: value'"},
		{"field without a name", Spec{Fields: []string{": a"}}, "", "letters"},
		{"line break", Spec{Fields: []string{"X: a\r\nY: b"}}, "", "line breaks"},
		{"length", Spec{Fields: []string{"content-length: 5"}}, "", "the body's length"},
		{"framing", Spec{Fields: []string{"Transfer-Encoding: chunked"}}, "", "the body's length"},
		{"connection", Spec{Fields: []string{"Connection: close"}}, "", "--no-keepalive"},
		{"no host", Spec{Fields: []string{"Host:"}}, "", "host of the URL"},
		{"host twice", Spec{Fields: []string{"Host: a", "host: b"}}, "", "once"},
		{"two fields of cookies", Spec{Fields: []string{"Cookie: a=b", "Cookie: c=d"}}, "", "--cookie"},
		{"cookie without a value", Spec{Cookies: []string{"a"}}, "", "name=value"},
		{"two cookies in one", Spec{Cookies: []string{"a=b; c=d"}}, "", "once for each"},
		{"missing body", Spec{Body: Body{File: "none"}}, "", "there is no file"},
		{"body in a folder", Spec{Body: Body{File: "."}}, "", "is a folder"},
		{"form without a value", Spec{Body: Body{Form: []string{"a"}}}, "", "name=value"},
		{"missing file of a form", Spec{Body: Body{Form: []string{"a=@none"}}}, "", "there is no file"},
		{"URL with a column but no data", Spec{Target: "/{{user}}"}, "", "--data"},
		{"field with a column but no data", Spec{Fields: []string{"X: {{user}}"}}, "", "--data"},
		{"body with a column but no data", Spec{Body: Body{Text: "{{user}}"}}, "", "--data"},
		{"unknown column", Spec{Target: "/{{nobody}}"}, users, "use one of user, token, path"},
		{"open template", Spec{Target: "/{{user"}, users, "without its }}"},
		{"unknown option", Spec{Target: "/{{user|upper}}"}, users, "{{name|raw}}"},
		{"raw field", Spec{Fields: []string{"X: {{user|raw}}"}}, users, "{{name|raw}}"},
		{"raw value with a space", Spec{Target: "/{{user|raw}}"}, users, "line 3"},
		{"target without a slash", Spec{Target: "{{token|raw}}"}, users, "begin it with /"},
		{"value with a line break", Spec{Fields: []string{"X: {{a}}"}}, "a\nfine\n\"bro\nken\"\n", "line 3"},
		{"cookie with a line break", Spec{Cookies: []string{"c={{a}}"}}, "a\n\"bro\nken\"\n", "line break"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.spec
			if s.Method == "" {
				s.Method = "GET"
			}
			s.Host, s.UserAgent = "h", "test"
			if c.data != "" {
				s.Data = readData(t, c.data, false)
			}
			if _, err := New(&s); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one about %q", err, c.want)
			}
		})
	}
}

func TestDataErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "at least one row"},
		{"no rows", "a,b\n", "at least one row"},
		{"no name", "a,,c\n1,2,3\n", "column 2"},
		{"the same name", "a,a\n1,2\n", "rename"},
		{"odd name", "a|b\n1\n", "rename"},
		{"rows of two lengths", "a,b\n1\n", "CSV"},
		{"quotes", "a\n\"x\n", "CSV"},
	} {
		if _, err := ReadData(writeFile(t, "data.csv", c.text), false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one about %q", c.name, err, c.want)
		}
	}
	if _, err := ReadData("none.csv", false); err == nil || !strings.Contains(err.Error(), "there is no file") {
		t.Errorf("missing file: %v", err)
	}
	if d := readData(t, "\xef\xbb\xbfname\nx\n", false); d.columns[0] != "name" {
		t.Errorf("with a byte order mark: %q", d.columns)
	}
}
