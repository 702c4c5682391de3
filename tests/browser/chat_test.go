package browser

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
)

// lastText is what the last message of the chat says, with its author.
const lastText = `(([...document.querySelectorAll('#log li:not(.note)')].pop() || document.createElement('li')).textContent || '').replace(/\d\d:\d\d/, ': ')`

// trustAll accepts self-signed certificates.
func trustAll() action {
	return call(security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true})
}

// join joins a room of examples/ws-chat, and waits until it is open over a version of HTTP.
func (p *page) join(name, room, over string) {
	p.t.Helper()
	p.run(
		chromedp.SetValue(chromedp.CSS("#name"), name),
		chromedp.SetValue(chromedp.CSS("#room"), room),
		chromedp.Click(chromedp.CSS("#join button")),
	)
	want(p, "the chat is open", `!document.getElementById('chat').hidden`, true)
	want(p, "over", `document.getElementById('state').textContent`, "you are "+name+", over "+over)
}

func (p *page) say(text string) {
	p.t.Helper()
	eval[any](p, `document.getElementById('text').focus()`)
	p.press(text + "\r")
}

// Two tabs talk, over HTTP/1.1 and over HTTP/2. The server says by which version of HTTP a
// WebSocket came.
func TestChat(t *testing.T) {
	for _, tt := range []struct {
		over string
		args []string
	}{
		{"HTTP/1.1", nil},
		{"HTTP/2.0", []string{"-tls-self-signed"}},
	} {
		url, stop := startProcess(t, "ws-chat", append([]string{"-addr", "127.0.0.1:0"}, tt.args...)...)
		ada, bob := open(t, screen, url, trustAll()), open(t, phone.inDark(), url, trustAll())
		shots := strings.ReplaceAll(strings.ToLower(tt.over), "/", "")
		ada.shot("chat-door-" + shots + "-1280")
		bob.shot("chat-door-" + shots + "-390-dark")
		ada.join("ada", "lobby", tt.over)
		ada.say("Is anybody there?")
		want(ada, "the own message", lastText, "ada: Is anybody there?")
		bob.join("bob", "lobby", tt.over)
		want(bob, "the history", lastText, "ada: Is anybody there?")
		want(ada, "who is there", `document.getElementById('there').textContent`, "ada, bob")
		bob.say("Yes! <b>&amp; ä 🙂")
		want(ada, "a message of another tab", lastText, "bob: Yes! <b>&amp; ä 🙂")
		for _, p := range []*page{ada, bob} {
			p.checkLook("the chat")
		}
		for _, text := range []string{"Good. A message that is long enough for several lines: " + strings.Repeat("many words and ", 12) + "an end.", strings.Repeat("x", 200)} {
			ada.say(text)
			want(bob, "a long message", lastText, "ada: "+text)
		}
		for _, p := range []*page{ada, bob} {
			want(p, "nothing is wider than the window", `document.documentElement.scrollWidth <= innerWidth`, true)
			want(p, "the last message is seen", `(() => { const log = document.getElementById('log'); return log.scrollHeight - log.scrollTop - log.clientHeight < 2; })()`, true)
		}
		for _, s := range []struct {
			p    *page
			name string
		}{{ada, "1280"}, {bob, "390-dark"}} {
			s.p.shot("chat-" + shots + "-" + s.name)
		}

		eval[any](bob, `document.getElementById('leave').click()`)
		want(bob, "the door", `document.getElementById('chat').hidden`, true)
		want(ada, "who is there", `document.getElementById('there').textContent`, "ada")

		// When the server comes to an end, the page says so.
		stop()
		want(ada, "the state", `document.getElementById('state').classList.contains('bad')`, true)
		ada.run(chromedp.Navigate("about:blank"))
		ada.forgive("WebSocket") // attempts to connect again
	}
}

// Light on the phone and dark on the screen, which TestChat doesn't look at.
func TestChatLooks(t *testing.T) {
	url := start(t, "ws-chat", "-addr", "127.0.0.1:0")
	for _, d := range []device{phone, screen.inDark()} {
		p := open(t, d, url)
		p.checkLook("the door")
		p.shot("chat-door-" + d.name)
		p.join("ada", "room "+d.name, "HTTP/1.1")
		p.say("hello")
		want(p, "the own message", lastText, "ada: hello")
		p.checkLook("the chat")
		p.shot("chat-" + d.name)
	}
}

// forgive forgets the problems that contain text.
func (p *page) forgive(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = slices.DeleteFunc(p.problems, func(problem string) bool { return strings.Contains(problem, text) })
}
