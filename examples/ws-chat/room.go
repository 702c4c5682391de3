package main

import (
	"encoding/json"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/galehttp/gale/ws"
)

const (
	historySize = 50   // messages that a room remembers
	maxText     = 4000 // bytes of a message
	maxRooms    = 1000
)

// chat has one room for each topic that has members.
type chat struct {
	topics ws.Topics

	mu    sync.Mutex
	rooms map[string]*room
}

// room is what the topic of the same name doesn't know.
type room struct {
	names   map[string]bool
	history []message
}

// message is what is sent to clients, as JSON.
type message struct {
	Type    string    `json:"type"` // "text", "joined", "left" or "welcome"
	Name    string    `json:"name"`
	Text    string    `json:"text,omitempty"`
	Time    time.Time `json:"time"`
	Names   []string  `json:"names,omitempty"`   // who is there; not with "text"
	History []message `json:"history,omitempty"` // only with "welcome"
	Over    string    `json:"over,omitempty"`    // only with "welcome": the version of HTTP
}

func newChat() *chat { return &chat{rooms: make(map[string]*room)} }

// member is the ws.Handler of one client.
type member struct {
	ws.Base
	chat             *chat
	room, name, over string
	joined           bool
}

// OnOpen joins the room. The lock makes it certain that the client gets each message once:
// in the history or by the topic.
func (m *member) OnOpen(s *ws.Socket) {
	m.chat.mu.Lock()
	defer m.chat.mu.Unlock()
	r := m.chat.rooms[m.room]
	if r == nil {
		if len(m.chat.rooms) >= maxRooms {
			s.Close(ws.StatusTryAgainLater, "too many rooms")
			return
		}
		r = &room{names: make(map[string]bool)}
		m.chat.rooms[m.room] = r
	}
	for name, n := m.name, 2; r.names[m.name]; n++ {
		m.name = fmt.Sprintf("%s %d", name, n)
	}
	r.names[m.name] = true
	m.joined = true
	m.chat.publish(m.room, message{Type: "joined", Name: m.name, Time: time.Now(), Names: r.list()})
	err := s.WriteJSON(message{Type: "welcome", Name: m.name, Time: time.Now(), Names: r.list(), History: r.history, Over: m.over})
	if err == nil {
		err = m.chat.topics.Subscribe(s, m.room)
	}
	if err != nil {
		s.Close(ws.StatusInternalError, "")
	}
}

// OnMessage sends a text to the room.
func (m *member) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) {
	if t != ws.Text {
		s.Close(ws.StatusUnsupportedData, "send text")
		return
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return
	}
	if len(text) > maxText {
		s.Close(ws.StatusTooBig, fmt.Sprintf("a message has at most %d bytes", maxText))
		return
	}
	m.chat.mu.Lock()
	defer m.chat.mu.Unlock()
	if !m.joined {
		return // it is being closed
	}
	r := m.chat.rooms[m.room]
	sent := message{Type: "text", Name: m.name, Text: text, Time: time.Now()}
	if len(r.history) == historySize {
		r.history = slices.Delete(r.history, 0, 1)
	}
	r.history = append(r.history, sent)
	m.chat.publish(m.room, sent)
}

// OnClose leaves the room. The topic doesn't have the client any more.
func (m *member) OnClose(*ws.Socket, error) {
	m.chat.mu.Lock()
	defer m.chat.mu.Unlock()
	if !m.joined {
		return
	}
	r := m.chat.rooms[m.room]
	delete(r.names, m.name)
	if len(r.names) == 0 {
		delete(m.chat.rooms, m.room)
		return
	}
	m.chat.publish(m.room, message{Type: "left", Name: m.name, Time: time.Now(), Names: r.list()})
}

// publish sends to all in a room. It waits for none of them.
func (c *chat) publish(room string, m message) {
	data, err := json.Marshal(m)
	if err == nil {
		err = c.topics.Publish(room, ws.Text, data)
	}
	if err != nil {
		log.Print(err)
	}
}

// list returns who is in the room.
func (r *room) list() []string {
	names := make([]string, 0, len(r.names))
	for name := range r.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// validName reports whether s has 1 to n characters that can be seen, and no space at its
// ends.
func validName(s string, n int) bool {
	if s == "" || !utf8.ValidString(s) || utf8.RuneCountInString(s) > n || strings.TrimSpace(s) != s {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
