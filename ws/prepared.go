package ws

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/wsframe"
)

// Prepared is a message for many WebSockets. Its frame is built once, and compressed once
// for each set of parameters that the WebSockets have negotiated; connections that keep
// their window (Compression.SendTakeover) compress it themselves. It doesn't change, and any
// number of goroutines may send it.
type Prepared struct {
	t     MessageType
	data  []byte // the end of plain
	plain []byte // the frame as servers send it

	mu         sync.Mutex
	forms      atomic.Pointer[[]*preparedForm]
	compressed atomic.Int32 // how often it was compressed
}

// preparedForm is a compressed form of a message.
type preparedForm struct {
	bits    uint8
	level   int
	frame   []byte // as servers send it
	payload []byte // the end of frame; nil if it isn't shorter than the message
}

// Prepare returns a message to be sent by WritePrepared. It copies data. Text must be valid
// UTF-8, which isn't checked. The error is ErrMessageType.
func Prepare(t MessageType, data []byte) (*Prepared, error) {
	if t != Text && t != Binary {
		return nil, ErrMessageType
	}
	p := &Prepared{t: t, plain: wsframe.AppendFrame(nil, wsframe.Opcode(t), true, false, data)}
	p.data = p.plain[len(p.plain)-len(data):]
	return p, nil
}

// frame returns the frame for connections of a server that have negotiated pr, and that
// don't keep their window.
func (p *Prepared) frame(pr *params) []byte {
	if !pr.compresses(len(p.data)) {
		return p.plain
	}
	f := p.form(pr.deflate, false, pr.compression.Level)
	if f.payload == nil {
		return p.plain
	}
	return f.frame
}

// form returns the compressed form of the message for connections that have negotiated d
// and don't keep their window. client says that this side is the client.
func (p *Prepared) form(d wsframe.Deflate, client bool, level int) *preparedForm {
	bits := d.ServerBits
	if client {
		bits = d.ClientBits
	}
	if f := p.find(bits, level); f != nil {
		return f
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.find(bits, level); f != nil {
		return f
	}
	f := p.compress(bits, level)
	var forms []*preparedForm
	if old := p.forms.Load(); old != nil {
		forms = slices.Clone(*old)
	}
	forms = append(forms, f)
	p.forms.Store(&forms)
	return f
}

// find returns the form for these parameters, or nil if there is none yet.
func (p *Prepared) find(bits uint8, level int) *preparedForm {
	forms := p.forms.Load()
	if forms == nil {
		return nil
	}
	for _, f := range *forms {
		if f.bits == bits && f.level == level {
			return f
		}
	}
	return nil
}

// compress makes a form.
func (p *Prepared) compress(bits uint8, level int) *preparedForm {
	p.compressed.Add(1)
	f := &preparedForm{bits: bits, level: level}
	d := wsframe.NewDeflater(wsframe.Deflate{
		On: true, ServerNoTakeover: true, ClientNoTakeover: true, ServerBits: bits, ClientBits: bits,
	}, false, level)
	if !d.Worth(len(p.data)) {
		return f
	}
	payload := d.Append(nil, p.data)
	if len(payload) >= len(p.data) {
		return f
	}
	f.frame = wsframe.AppendFrame(nil, wsframe.Opcode(p.t), true, true, payload)
	f.payload = f.frame[len(f.frame)-len(payload):]
	return f
}
