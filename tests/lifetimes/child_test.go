package lifetimes

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// childVar is the environment variable that makes this binary run one program. Its value
// is a scenario in JSON.
const childVar = "LIFETIMES_SCENARIO"

// scenario is one run of a program.
type scenario struct {
	Program string
	Run     []string // the words after "run:"
	TCP     bool     // over loopback instead of in memory
	Guard   bool     // with GuardLifetimes, each request on pages of its own
	Outside bool     // Show is called by a goroutine of the program, not by a handler
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVar); text != "" {
		var s scenario
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(err)
		}
		s.play()
		return
	}
	os.Exit(m.Run())
}

// play runs the program: a request of the first user, some of the other one, and then what
// the program kept is used. It prints what comes of that.
func (s *scenario) play() {
	p := find(s.Program)
	p.run = s.Run
	debug.SetGCPercent(-1) // so that pools keep what is in them
	c := &client{dial: s.serve(p.handler, p.option("streamed"))}
	const requests = 4
	c.do(p.request(firstUser))
	for range requests - 1 {
		c.do(p.request(otherUser))
	}
	slow.Finish()
	var shown string
	switch {
	case p.show == nil:
		audit.Wait(requests, 5*time.Second, reported.Load)
		shown = strings.Join(audit.Lines(), "\n")
	case s.Outside:
		done := make(chan struct{})
		go func() {
			shown = p.show()
			close(done) // not deferred: a panic must end the process
		}()
		<-done
	default:
		// Another server, so that the first one's contexts aren't used.
		c := &client{dial: s.serve(func(*gale.RequestCtx) { shown = p.show() }, false)}
		c.do([]byte("GET /show HTTP/1.1\r\nHost: show.test\r\n\r\n"))
	}
	text, err := json.Marshal(strings.ToValidUTF8(shown, "\uFFFD"))
	if err != nil {
		panic(err)
	}
	fmt.Printf("\nSHOWN %s\n", text)
}

func find(name string) *program {
	for i := range programs {
		if programs[i].name == name {
			return &programs[i]
		}
	}
	panic("no program " + name)
}

// serve starts a server and returns how to connect to it.
func (s *scenario) serve(handler gale.RequestHandler, streamed bool) func() (net.Conn, error) {
	server := &gale.Server{
		Handler:           handler,
		StreamRequestBody: streamed,
		Logger:            output{},
		PanicHandler:      func(_ *gale.RequestCtx, v any) { output{}.Printf("recovered: %v", v) },
	}
	if s.Guard {
		server.GuardLifetimes = &gale.LifetimeGuard{Every: 1, Pages: true}
	}
	if s.TCP {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		go server.Serve(ln)
		return func() (net.Conn, error) { return net.Dial("tcp", ln.Addr().String()) }
	}
	ln := galeutil.NewInmemoryListener()
	go server.Serve(ln)
	return ln.Dial
}

// report matches what the guard says.
var report = regexp.MustCompile(`used after (the handler returned|the Re\w+ was reset|Release\w+)|released twice by Release\w+`)

// reported says that the guard has reported something in this process.
var reported atomic.Bool

// output is a Logger that prints to standard error.
type output struct{}

func (output) Printf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, line)
	if report.MatchString(line) {
		reported.Store(true)
	}
}
