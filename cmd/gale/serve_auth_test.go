package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/renewed"
	"github.com/galehttp/gale/internal/shares"
)

// Lines of htpasswd -B, for "correct horse" and "pä:ss".
const (
	aliceLine = "alice:$2y$05$wOY5Ru7MwFXx4lg/rO.4buhXt7kT4eujyQHNmauPlv/I30UEvIO.u"
	bobLine   = "bob:$2y$04$ceBSZrU1stw261cOA8Ev2.XpZP4.qD/XZ.gojFySSe2dH1U/ePD2m"
)

// here is a server in this process.
type here struct {
	url string
	log lockedBuffer
	srv *gale.Server
}

// serveHere serves dir with the arguments, as runServe does, on the engine given.
func serveHere(t *testing.T, engine, dir string, change func(*gale.Server), args ...string) *here {
	t.Helper()
	h := &here{}
	_, h.srv = prepare(t, &h.log, "", append(args, "-engine", engine, dir)...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(h.srv)
	}
	done := make(chan error, 1)
	go func() { done <- h.srv.Serve(ln) }()
	h.url = "http://" + ln.Addr().String() + "/"
	t.Cleanup(func() {
		_ = h.srv.Close()
		_ = ln.Close() // Serve may not have begun yet, and would begin after Close
		<-done
	})
	return h
}

// get sends a GET with a name and password, and returns the response without its body.
func (h *here) get(t *testing.T, path, user, pass string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest("GET", h.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		req.SetBasicAuth(user, pass)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

func TestAuthFile(t *testing.T) {
	long := strings.Repeat("x", maxPassword)
	made, err := bcrypt.GenerateFromPassword([]byte(long), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users")
	text := "# users\n" + aliceLine + "\r\n\n" + bobLine + "\nlong:" + string(made) + "\nb:" + strings.Replace(string(made), "$2a$", "$2b$", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := site(t, map[string]string{"a.txt": "private"})
	for _, engine := range engines() {
		h := serveHere(t, engine, dir, nil, "-auth-file", file)
		for _, c := range []struct {
			name, user, pass string
			status           int
		}{
			{"right", "alice", "correct horse", 200},
			{"remembered", "alice", "correct horse", 200},
			{"colon and UTF-8", "bob", "pä:ss", 200},
			{"2a, 72 bytes", "long", long, 200},
			{"2b", "b", long, 200},
			{"73 bytes", "long", long + "x", 401},
			{"wrong password", "alice", "correct horsf", 401},
			{"wrong and remembered", "alice", "correct horsf", 401},
			{"password of another", "bob", "correct horse", 401},
			{"unknown user", "carol", "correct horse", 401},
			{"case", "Alice", "correct horse", 401},
			{"Latin-1", "bob", "p\xe4:ss", 401},
			{"no user", "", "", 401},
			{"hash as password", "alice", strings.TrimPrefix(aliceLine, "alice:"), 401},
		} {
			resp, body := h.get(t, "a.txt", c.user, c.pass)
			if resp.StatusCode != c.status || (c.status == 200) != (body == "private") {
				t.Errorf("%s: %s: status %d, body %q, want %d", engine, c.name, resp.StatusCode, body, c.status)
			}
			if asks := resp.Header.Get("WWW-Authenticate"); (asks != "") != (c.status == 401) {
				t.Errorf("%s: %s: WWW-Authenticate is %q", engine, c.name, asks)
			}
			if tooLong := strings.Contains(body, "72 bytes"); tooLong != (len(c.pass) > maxPassword) {
				t.Errorf("%s: %s: %q", engine, c.name, body)
			}
		}
		if _, err := bcrypt.Cost(made); err != nil || strings.Contains(h.log.String(), "horse") {
			t.Errorf("%s: %v, a password is in the log: %s", engine, err, h.log.String())
		}
	}
}

// A line that the installed htpasswd makes is accepted.
func TestAuthHtpasswd(t *testing.T) {
	tool, err := exec.LookPath("htpasswd")
	if err != nil {
		t.Skip("htpasswd isn't installed")
	}
	line, err := exec.Command(tool, "-nbBC", "4", "dave", "s3cret").Output()
	if err != nil {
		t.Fatal(err)
	}
	table, err := parsePasswords(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	hash, known := table.find("dave")
	if !known || bcrypt.CompareHashAndPassword([]byte(hash), []byte("s3cret")) != nil {
		t.Errorf("%q", line)
	}
}

func TestParsePasswords(t *testing.T) {
	_, hash, _ := strings.Cut(aliceLine, ":")
	users := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "u%d:%s\n", i, hash)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, in string
		users    int
		err      string
	}{
		{"one", aliceLine, 1, ""},
		{"two with comments", "# a\n\n" + aliceLine + " \r\n" + bobLine + "\n", 2, ""},
		{"byte order mark", "\ufeff" + aliceLine, 1, ""},
		{"most", users(maxUsers), maxUsers, ""},
		{"empty", "", 0, "htpasswd -B"},
		{"only comments", "#\n\n", 0, "htpasswd -B"},
		{"no colon", aliceLine + "\nbob\n", 0, "line 2 isn't name:hash"},
		{"plain password", "alice:secret", 0, `line 1, user "alice": the password isn't a bcrypt hash; make the line with htpasswd -B`},
		{"MD5", "alice:$apr1$lZL6V/ci$eIMz/iKDkbtys/uU7LEK00", 0, "htpasswd -B"},
		{"SHA-1", "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", 0, "htpasswd -B"},
		{"crypt", "alice:rqXexS6ZhobKA", 0, "htpasswd -B"},
		{"bcrypt of a broken program", "alice:" + strings.Replace(hash, "$2y", "$2x", 1), 0, "htpasswd -B"},
		{"bcrypt without version", "alice:" + strings.Replace(hash, "$2y", "$2", 1), 0, "htpasswd -B"},
		{"short hash", aliceLine[:len(aliceLine)-1], 0, "damaged"},
		{"long hash", aliceLine + "a", 0, "damaged"},
		{"bad character", strings.Replace(aliceLine, "XXx4", "X:x4", 1)[:len(aliceLine)-1] + "_", 0, "damaged"},
		{"high cost", strings.Replace(aliceLine, "$05$", "$15$", 1), 0, "cost"},
		{"low cost", strings.Replace(aliceLine, "$05$", "$03$", 1), 0, "cost"},
		{"no number", strings.Replace(aliceLine, "$05$", "$+5$", 1), 0, "damaged"},
		{"twice", aliceLine + "\n" + aliceLine, 0, `line 2: there is another line for "alice"`},
		{"no name", ":" + hash, 0, "line 1: a name"},
		{"long name", strings.Repeat("n", maxUserName+1) + ":" + hash, 0, "line 1: a name"},
		{"control character", "a\x01:" + hash, 0, "line 1: a name"},
		{"not UTF-8", "\xff:" + hash, 0, "line 1: a name"},
		{"too many", users(maxUsers + 1), 0, "more than"},
	} {
		table, err := parsePasswords([]byte(c.in))
		switch {
		case c.err == "" && (err != nil || len(table.hashes) != c.users || len(table.list) != c.users):
			t.Errorf("%s: %v", c.name, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		case err != nil && strings.Contains(err.Error(), "lg/rO"):
			t.Errorf("%s: a hash is in the error: %v", c.name, err)
		}
	}
}

func FuzzParsePasswords(f *testing.F) {
	f.Add([]byte("# a\n" + aliceLine + "\n" + bobLine))
	f.Add([]byte("\ufeffa:b:c\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := parsePasswords(b)
		if err != nil {
			return
		}
		if len(table.list) == 0 || len(table.list) != len(table.hashes) {
			t.Fatalf("%d hashes, %d users", len(table.list), len(table.hashes))
		}
		for name, hash := range table.hashes {
			if name == "" || strings.ContainsAny(name, ":\x00\r\n") {
				t.Errorf("name %q", name)
			}
			if cost, err := bcrypt.Cost([]byte(hash)); err != nil || cost > maxCost || len(hash) != 60 {
				t.Errorf("hash %q: %v", hash, err)
			}
		}
	})
}

// Unknown names get the hash of a user, always the same one, and not all the same.
func TestUnknownUsersGetHashes(t *testing.T) {
	table, err := parsePasswords([]byte(aliceLine + "\n" + bobLine))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i := range 200 {
		name := "nobody" + strconv.Itoa(i)
		hash, known := table.find(name)
		if again, _ := table.find(name); known || again != hash {
			t.Fatalf("%s: %q and then %q", name, hash, again)
		}
		seen[hash]++
	}
	if len(seen) != 2 {
		t.Errorf("of two hashes %d are used", len(seen))
	}
}

// A changed file is read, a broken one is reported once, and its last users stay.
func TestAuthFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	start := time.Now()
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(aliceLine, start.Add(-time.Hour))
	var log lockedBuffer
	f, err := openPasswords(path, start, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	has := func(at time.Time, users ...string) {
		t.Helper()
		table := f.users(at)
		for _, u := range users {
			if _, known := table.find(u); !known {
				t.Errorf("%s is missing", u)
			}
		}
		if len(table.list) != len(users) {
			t.Errorf("%d users, want %q", len(table.list), users)
		}
	}
	warnings := func(n int) {
		t.Helper()
		if got := strings.Count(log.String(), "level=WARN"); got != n {
			t.Errorf("%d warnings, want %d: %s", got, n, log.String())
		}
	}
	now := start
	next := func() time.Time { now = now.Add(lookAgain); return now }

	write(bobLine, start.Add(-time.Minute))
	has(start.Add(lookAgain-1), "alice") // it isn't looked at yet
	has(next(), "bob")
	write("broken", start.Add(-30*time.Second))
	has(next(), "bob")
	has(next(), "bob")
	warnings(1)
	write("broken too", start.Add(-29*time.Second))
	has(next(), "bob")
	warnings(1) // the same reason
	write(aliceLine+"\nx:{SHA}", start.Add(-28*time.Second))
	has(next(), "bob")
	warnings(2)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	has(next(), "bob")
	has(next(), "bob")
	warnings(3)
	write(aliceLine, start.Add(-27*time.Second))
	has(next(), "alice")
	// A change of the same size, within the same tick of the file's clock.
	carol := strings.Replace(aliceLine, "alice", "carol", 1)
	write(aliceLine, now.Add(lookAgain))
	has(next(), "alice")
	write(carol, now)
	has(next(), "carol")
	write("", now) // as an editor does before it writes
	has(next(), "carol")
	write(aliceLine+"\n"+bobLine, now)
	has(next(), "alice", "bob")
	warnings(4)
	write(carol, now) // and the clock is set back
	has(start.Add(-time.Minute), "carol")
}

func TestAuthFileRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "users")
	for _, c := range []struct {
		name, text string
		args       []string
		want       string
	}{
		{"missing", "", []string{"-auth-file", filepath.Join(dir, "none")}, "none"},
		{"folder", "", []string{"-auth-file", dir}, "isn't a regular file"},
		{"other hash", "a:$apr1$x", []string{"-auth-file", file}, "htpasswd -B"},
		{"large", strings.Repeat("#\n", renewed.MaxSize/2+1), []string{"-auth-file", file}, "larger than"},
		{"with -auth", aliceLine, []string{"-auth-file", file, "-auth", "a:b"}, "either"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr lockedBuffer
		code := run(append([]string{"serve", "-addr", "127.0.0.1:0", dir}, c.args...), &stdout, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), c.want) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", c.name, code, stderr.String())
		}
	}
}

func TestAuthEnv(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(authEnv, "user:pass:word")
	if _, err := parseServeFlags([]string{"-auth", "a:b", dir}); err == nil || !strings.Contains(err.Error(), authEnv) {
		t.Errorf("with -auth: %v", err)
	}
	cfg, err := parseServeFlags([]string{dir})
	if err != nil || cfg.auth.pair.user != "user" || cfg.auth.pair.pass != "pass:word" {
		t.Errorf("%v", err)
	}
	if v, found := os.LookupEnv(authEnv); found {
		t.Errorf("programs that are started would get %q", v)
	}
	for _, v := range []string{"", "secret", ":secret", "secret:", "us\xffer:secret", "user:sec\nret"} {
		t.Setenv(authEnv, v)
		if _, err := parseServeFlags([]string{dir}); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// gate is a comparison that waits until the test lets it go.
type gate struct {
	checks *passwordChecks
	began  chan string // passwords, in the order of the checks
	free   chan struct{}
	count  atomic.Int32
}

// newGate returns checks that run one at a time. The password "right" is right.
func newGate() *gate {
	g := &gate{checks: newPasswordChecks(), began: make(chan string, 10_000), free: make(chan struct{})}
	g.checks.most = 1
	g.checks.compare = func(hash, pass string) bool {
		g.count.Add(1)
		g.began <- pass
		<-g.free
		return pass == "right"
	}
	return g
}

// ask starts a request and returns where its answer will be.
func (g *gate) ask(client, user, pass string) chan authAnswer {
	answer := make(chan authAnswer, 1)
	go func() {
		p := shares.ClientOf(netip.MustParseAddr(client))
		answer <- g.checks.answer(p, credential{user, pass, "hash of " + user, true}, time.Now())
	}()
	synctest.Wait()
	return answer
}

func has(answer chan authAnswer) bool { return len(answer) == 1 }

// A client that sends many wrong passwords doesn't delay others by more than a check, and
// doesn't delay those whose passwords are remembered at all.
func TestPasswordsOfClientsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		old := g.ask("192.0.2.1", "old", "right")
		g.free <- struct{}{}
		if <-old != authRight || <-g.began != "right" {
			t.Fatal("the first check")
		}
		var wrong []chan authAnswer
		for i := range 100 { // one of them runs
			wrong = append(wrong, g.ask("203.0.113.9", "old", "guess"+strconv.Itoa(i)))
		}
		refused := 0
		for _, a := range wrong {
			if has(a) {
				if got := <-a; got != authEnough {
					t.Fatalf("answer %d", got)
				}
				refused++
			}
		}
		if want := 100 - maxClientWaiting - 1; refused != want {
			t.Errorf("%d of 100 are refused, want %d", refused, want)
		}
		if a := g.ask("192.0.2.1", "old", "right"); !has(a) || <-a != authRight {
			t.Error("a remembered password waits")
		}
		fresh := g.ask("192.0.2.1", "new", "right")
		other := g.ask("2001:db8::1", "other", "right")
		var order []string
		for range 4 {
			order = append(order, <-g.began)
			g.free <- struct{}{}
			synctest.Wait()
		}
		if got := strings.Join(order, " "); got != "guess0 guess1 right right" {
			t.Errorf("the order is %s", got)
		}
		if <-fresh != authRight || <-other != authRight {
			t.Error("the right passwords of others")
		}
		for range maxClientWaiting - 1 {
			g.free <- struct{}{}
		}
		synctest.Wait()
		c := g.checks
		if c.running != 0 || c.waiting != 0 || len(c.checks) != 0 || len(c.lines) != 0 || len(c.turns) != 0 {
			t.Errorf("something is left: %d run, %d wait", c.running, c.waiting)
		}
	})
}

// Requests with equal credentials share a check, and the next ones need none for a while.
func TestEqualPasswordsAreCheckedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		both := func(pass string, want authAnswer, remembered time.Duration) {
			before := g.count.Load()
			var answers []chan authAnswer
			for i := range 6 {
				answers = append(answers, g.ask("192.0.2."+strconv.Itoa(i), "u", pass))
			}
			g.free <- struct{}{}
			for _, a := range answers {
				if got := <-a; got != want {
					t.Errorf("%s: %d", pass, got)
				}
			}
			time.Sleep(remembered - 1)
			if a := g.ask("192.0.2.1", "u", pass); !has(a) || <-a != want {
				t.Errorf("%s: it isn't remembered", pass)
			}
			if n := g.count.Load() - before; n != 1 {
				t.Errorf("%s: %d checks", pass, n)
			}
			if want == authRight { // each use prolongs it
				time.Sleep(remembered - 1)
				if a := g.ask("192.0.2.1", "u", pass); !has(a) || <-a != want {
					t.Errorf("%s: it isn't remembered after a use", pass)
				}
			}
			time.Sleep(remembered)
			again := g.ask("192.0.2.1", "u", pass)
			g.free <- struct{}{}
			if <-again != want || g.count.Load()-before != 2 {
				t.Errorf("%s: it is remembered for too long", pass)
			}
		}
		both("right", authRight, rightFor)
		both("bad", authWrong, wrongFor)
		// The hash is part of what is remembered: a new password in the file counts at once.
		client := shares.ClientOf(netip.MustParseAddr("192.0.2.1"))
		before := g.count.Load()
		go func() { g.free <- struct{}{} }()
		g.checks.answer(client, credential{"u", "right", "a new hash", true}, time.Now())
		if g.count.Load() != before+1 {
			t.Error("a new hash isn't checked")
		}
		// A name that isn't known is wrong, even if the password fits the hash.
		go func() { g.free <- struct{}{} }()
		if got := g.checks.answer(client, credential{"x", "right", "hash of u", false}, time.Now()); got != authWrong {
			t.Errorf("an unknown name: %d", got)
		}
	})
}

// If too many checks wait in all, those of the client with the most give way.
func TestPasswordChecksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		g.ask("192.0.2.1", "u", "running")
		var greedy []chan authAnswer
		for i := range maxClientWaiting {
			greedy = append(greedy, g.ask("192.0.2.2", "u", "greedy"+strconv.Itoa(i)))
		}
		n := 0
		for g.checks.waiting < maxWaiting {
			g.ask(fmt.Sprintf("198.51.%d.%d", n/250, n%250), "u", "other"+strconv.Itoa(n))
			n++
		}
		before := g.checks.waiting
		a := g.ask("192.0.2.3", "u", "one more")
		if has(a) || g.checks.waiting != before {
			t.Errorf("a new client can't wait: %d wait", g.checks.waiting)
		}
		if last := greedy[maxClientWaiting-1]; !has(last) || <-last != authEnough {
			t.Error("the greedy client doesn't give way")
		}
		for i := range 2 * maxClientWaiting { // until no client has more than one
			g.ask(fmt.Sprintf("10.1.0.%d", i), "u", "late"+strconv.Itoa(i))
		}
		if a := g.ask("10.2.0.1", "u", "too late"); !has(a) || <-a != authBusy {
			t.Error("it is accepted, though every client has only one")
		}
		close(g.free)
		synctest.Wait()
		c := g.checks
		if c.running != 0 || c.waiting != 0 || len(c.checks) != 0 || len(c.lines) != 0 {
			t.Errorf("something is left: %d run, %d wait", c.running, c.waiting)
		}
	})
}

func TestClientOf(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"2001:db8:0:100::1", "2001:db8:0:1ff:9::2", true},
		{"2001:db8:0:100::1", "2001:db8:0:200::1", false},
	} {
		if got := shares.ClientOf(netip.MustParseAddr(c.a)) == shares.ClientOf(netip.MustParseAddr(c.b)); got != c.same {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
	}
}

func TestRememberedDigestsAreBounded(t *testing.T) {
	r := rememberedDigests{most: 10, until: map[digest]time.Time{}}
	now := time.Now()
	for i := range 100 {
		r.add(digest{byte(i)}, now.Add(time.Duration(i)), time.Minute)
	}
	if len(r.until) != 10 || !r.has(digest{99}, now) || !r.has(digest{90}, now) || r.has(digest{89}, now) {
		t.Errorf("%d are remembered", len(r.until))
	}
	r.add(digest{200}, now.Add(time.Hour), time.Minute)
	if len(r.until) != 1 {
		t.Errorf("%d are remembered, though only one is valid", len(r.until))
	}
}

// A client without a password that is about to send a large body gets its answer at once.
func TestAuthRefusesUploadsEarly(t *testing.T) {
	dir := site(t, map[string]string{"a.txt": "private"})
	for _, engine := range engines() {
		h := serveHere(t, engine, dir, func(s *gale.Server) { s.StreamRequestBody = true }, "-auth", "u:p")
		for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
			conn, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(h.url, "http://"), "/"))
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(patience))
			fmt.Fprintf(conn, "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n%s\r\n", expect)
			b, err := io.ReadAll(conn)
			if !strings.HasPrefix(string(b), "HTTP/1.1 401 ") {
				t.Errorf("%s, %q: %q, %v", engine, expect, b, err)
			}
			conn.Close()
		}
	}
}
