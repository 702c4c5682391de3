package examples

import (
	"context"

	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/ws"
)

// dialWS opens a WebSocket. ctx ends with the test, or after the time that anything may
// take.
func dialWS(t *testing.T, url string) (context.Context, *ws.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	c, _, err := ws.Dial(ctx, url, nil)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.CloseNow()
		cancel()
	})
	return ctx, c
}

func TestWSEcho(t *testing.T) {
	e := run(t, "ws-echo")
	for _, path := range []string{"/event", "/conn"} {
		ctx, c := dialWS(t, "ws://"+e.addr+path)
		for _, message := range []string{"hello", "", strings.Repeat("ä", 100_000)} {
			for _, want := range []ws.MessageType{ws.Text, ws.Binary} {
				if err := c.Write(ctx, want, []byte(message)); err != nil {
					t.Fatal(err)
				}
				if mt, got, err := c.Read(ctx); err != nil || mt != want || string(got) != message {
					t.Errorf("%s: %v of %d bytes, %v; want %v of %d", path, mt, len(got), err, want, len(message))
				}
			}
		}
		if err := c.Close(ws.StatusNormal, ""); err != nil {
			t.Errorf("%s: Close: %v", path, err)
		}
		// No WebSocket, or one of a page of another host.
		if resp, _ := get(t, http.DefaultClient, "http://"+e.addr+path); resp.StatusCode != 426 && resp.StatusCode != 400 {
			t.Errorf("%s without a handshake: %d", path, resp.StatusCode)
		}
	}
}

// chatMessage is what ws-chat sends.
type chatMessage struct {
	Type, Name, Text, Over string
	Names                  []string
	History                []chatMessage
}

// next waits for a message of a type.
func next(t *testing.T, ctx context.Context, c *ws.Conn, kind string) chatMessage {
	t.Helper()
	for {
		var m chatMessage
		if err := c.ReadJSON(ctx, &m); err != nil {
			t.Fatalf("waiting for %q: %v", kind, err)
		}
		if m.Type == kind {
			return m
		}
	}
}

func TestWSChat(t *testing.T) {
	e := run(t, "ws-chat")
	at := "ws://" + e.addr + "/chat?room=lobby&name="
	ctx, ada := dialWS(t, at+"ada")
	if m := next(t, ctx, ada, "welcome"); m.Name != "ada" || m.Over != "HTTP/1.1" || len(m.History) != 0 {
		t.Errorf("the first welcome: %+v", m)
	}
	say := func(c *ws.Conn, text string) {
		t.Helper()
		if err := c.Write(ctx, ws.Text, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	const said = 60 // more than a room remembers
	for i := range said {
		say(ada, fmt.Sprint(" text ", i, "\n"))
		if m := next(t, ctx, ada, "text"); m.Name != "ada" || m.Text != fmt.Sprint("text ", i) {
			t.Fatalf("text %d: %+v", i, m)
		}
	}

	// Another one of the same name gets another name, and the history.
	_, bob := dialWS(t, at+"ada")
	m := next(t, ctx, bob, "welcome")
	if m.Name != "ada 2" || !slices.Equal(m.Names, []string{"ada", "ada 2"}) {
		t.Errorf("the second welcome: %+v", m)
	}
	if n := len(m.History); n != 50 || m.History[0].Text != "text 10" || m.History[n-1].Text != "text 59" {
		t.Errorf("a history of %d", n)
	}
	if m := next(t, ctx, ada, "joined"); m.Name != "ada 2" {
		t.Errorf("joined: %+v", m)
	}
	_, other := dialWS(t, "ws://"+e.addr+"/chat?room=attic&name=eve")
	say(bob, "hi")
	for _, c := range []*ws.Conn{ada, bob} {
		if m := next(t, ctx, c, "text"); m.Name != "ada 2" || m.Text != "hi" {
			t.Errorf("got %+v", m)
		}
	}
	say(other, "here?")
	if m := next(t, ctx, other, "text"); m.Text != "here?" {
		t.Errorf("a member of another room got %+v", m)
	}
	if err := other.Close(ws.StatusNormal, ""); err != nil {
		t.Error(err)
	}
	if err := bob.Close(ws.StatusNormal, ""); err != nil {
		t.Error(err)
	}
	if m := next(t, ctx, ada, "left"); m.Name != "ada 2" || !slices.Equal(m.Names, []string{"ada"}) {
		t.Errorf("left: %+v", m)
	}

	for what, query := range map[string]string{"no name": "room=lobby", "no room": "name=x", "a long name": "room=a&name=" + strings.Repeat("x", 25),
		"spaces": "room=a&name=%20x", "a control character": "room=a&name=x%07y"} {
		_, resp, err := ws.Dial(ctx, "ws://"+e.addr+"/chat?"+query, nil)
		if err == nil || resp == nil || resp.StatusCode() != 400 {
			t.Errorf("%s: %v", what, err)
		}
	}
	for path, text := range map[string]string{"/": "<title>Chat</title>", "/page.js": "new WebSocket", "/page.css": "prefers-color-scheme"} {
		if resp, body := get(t, http.DefaultClient, "http://"+e.addr+path); resp.StatusCode != 200 || !strings.Contains(body, text) {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}

	// The end closes WebSockets as RFC 6455 says.
	if runtime.GOOS == "windows" {
		return // no signals there
	}
	if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for {
		if _, _, err := ada.Read(ctx); err != nil {
			if ws.CloseStatus(err) != ws.StatusGoingAway {
				t.Errorf("at the end: %v", err)
			}
			break
		}
	}
	select {
	case err := <-e.ended:
		if err != nil {
			t.Errorf("it ended: %v\n%s", err, e.output)
		}
	case <-time.After(wait):
		t.Error("it doesn't end")
	}
}

// The program starts itself as the readers. Those that stall lose messages.
func TestWSBroadcast(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command to build it with")
	}
	bin := filepath.Join(t.TempDir(), "ws-broadcast.exe")
	if out, err := exec.Command(goTool, "build", "-o", bin, "./ws-broadcast").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-readers", "60", "-stalled", "10", "-size", "32768", "-rate", "20", "-time", "1s", "-drop")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var reading, stalled, got, closed, dropped int
	lines := strings.Split(string(out), "\n")
	for i, format := range []string{"%d readers, %d more stalled", "delivered %d messages", "", "stalled %d closed, %d messages dropped"} {
		var err error
		switch i {
		case 0:
			_, err = fmt.Sscanf(lines[i], format, &reading, &stalled)
		case 1:
			_, err = fmt.Sscanf(lines[i], format, &got)
		case 3:
			_, err = fmt.Sscanf(lines[i], format, &closed, &dropped)
		}
		if err != nil {
			t.Fatalf("line %d: %v\n%s", i+1, err, out)
		}
	}
	// On a slow machine others may lose messages, too.
	if reading != 50 || stalled != 10 || got == 0 || closed != 0 || dropped < 10 && runtime.GOOS == "linux" {
		t.Errorf("%s", out)
	}
}
