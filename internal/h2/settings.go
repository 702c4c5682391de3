package h2

import "encoding/binary"

// The settings (RFC 9113 section 6.5.2, RFC 8441 section 3, RFC 9218 section 2.1).
const (
	settingTableSize       = 1
	settingPush            = 2
	settingStreams         = 3
	settingInitialWindow   = 4
	settingMaxFrame        = 5
	settingHeaderList      = 6
	settingExtendedConnect = 8
	settingNoPriorities    = 9
)

// settingLen is the length of a setting in bytes.
const settingLen = 6

// peerState is what the peer has said about itself.
type peerState struct {
	// For the frame that is being read: the last and the largest
	// SETTINGS_INITIAL_WINDOW_SIZE, or -1 if it had none. They are applied at the
	// end of the frame, to all streams at once.
	window, widest int32

	streams      int32 // SETTINGS_MAX_CONCURRENT_STREAMS, or -1
	noPriorities int8  // 1 + SETTINGS_NO_RFC7540_PRIORITIES, 0 before the first SETTINGS

	connects    bool  // SETTINGS_ENABLE_CONNECT_PROTOCOL is 1
	prioritized bool  // the client has used a feature of RFC 9218
	gone        bool  // the peer has sent GOAWAY
	pings       uint8 // PING frames that the peer has not answered yet
}

// begin sets the values that apply before SETTINGS are exchanged.
func (c *Conn) begin() {
	c.peer = peerState{window: -1, widest: -1, streams: -1}
	c.out = connFlow{window: initialWindow, initial: initialWindow}
	c.in = connFlow{window: int64(c.cfg.ConnWindow), initial: max(initialWindow, int64(c.cfg.StreamWindow))}
	if c.cfg.TableSize > DefaultTableSize {
		c.coding.dec.SetMaxTableSize(c.cfg.TableSize)
	}
}

// appendFirst appends SETTINGS, and a WINDOW_UPDATE that enlarges the connection's
// window (RFC 9113 section 3.4).
func (c *Conn) appendFirst(out []byte) []byte {
	from := len(out)
	out = appendFrameHeader(out, 0, frameSettings, 0, 0)
	if c.client {
		out = appendSetting(out, settingPush, 0)
	} else {
		out = appendSetting(out, settingStreams, c.cfg.Streams)
	}
	out = appendSetting(out, settingInitialWindow, c.cfg.StreamWindow)
	out = appendSetting(out, settingHeaderList, c.cfg.HeaderList)
	if c.cfg.TableSize != DefaultTableSize {
		out = appendSetting(out, settingTableSize, c.cfg.TableSize)
	}
	if c.cfg.ExtendedConnect && !c.client {
		out = appendSetting(out, settingExtendedConnect, 1)
	}
	if !c.client {
		out = appendSetting(out, settingNoPriorities, 1)
	}
	setFrameHeader(out[from:], len(out)-from-frameHeaderLen, frameSettings, 0, 0)
	if more := c.cfg.ConnWindow - initialWindow; more > 0 {
		out = appendFrameHeader(out, 4, frameWindowUpdate, 0, 0)
		out = binary.BigEndian.AppendUint32(out, uint32(more))
	}
	return out
}

func appendSetting(dst []byte, id uint16, value int) []byte {
	dst = binary.BigEndian.AppendUint16(dst, id)
	return binary.BigEndian.AppendUint32(dst, uint32(value))
}

// setting applies a setting of the peer.
func (c *Conn) setting(b []byte) {
	value := binary.BigEndian.Uint32(b[2:])
	switch id := binary.BigEndian.Uint16(b); id {
	case settingTableSize:
		c.coding.enc.SetMaxTableSize(int(min(value, DefaultTableSize)))
	case settingPush:
		if value > 1 || value == 1 && c.client {
			c.fail(ProtocolError)
		}
	case settingExtendedConnect:
		if value > 1 || value == 0 && c.peer.connects { // RFC 8441 section 3
			c.fail(ProtocolError)
			return
		}
		c.peer.connects = value == 1
	case settingStreams:
		c.peer.streams = int32(min(value, maxStreamID))
	case settingInitialWindow:
		if value > maxWindow {
			c.fail(FlowControlError)
			return
		}
		c.peer.window = int32(value)
		c.peer.widest = max(c.peer.widest, int32(value))
	case settingMaxFrame:
		if value < 1<<14 || value > 1<<24-1 {
			c.fail(ProtocolError) // this side uses the smallest value
		}
	case settingNoPriorities:
		was := c.peer.noPriorities
		if value > 1 || was != 0 && was != 1+int8(value) {
			c.fail(ProtocolError)
			return
		}
		c.peer.noPriorities = 1 + int8(value)
		c.peer.prioritized = c.peer.prioritized || value == 1
	}
}

// settingsEnd acknowledges a SETTINGS frame after all of it was applied (RFC 9113
// section 6.5.3).
func (c *Conn) settingsEnd(ev *Event) {
	c.greeted = true
	if c.peer.noPriorities == 0 {
		c.peer.noPriorities = 1
	}
	if n, widest := c.peer.window, c.peer.widest; n >= 0 {
		c.peer.window, c.peer.widest = -1, -1
		c.setInitialWindow(int64(n), int64(widest), ev)
	}
	if c.queueFrame(frameSettings, flagAck, 0, nil) && c.client {
		*ev = Event{Kind: Settings}
	}
}

// settingsAck handles the peer's acknowledgement of this side's SETTINGS. From now
// on the peer must also keep limits that the SETTINGS have lowered.
func (c *Conn) settingsAck() {
	if c.settled {
		c.odd(1)
		return
	}
	c.settled = true
	if c.cfg.TableSize < DefaultTableSize {
		c.coding.dec.SetMaxTableSize(c.cfg.TableSize)
	}
	if n := c.excess(); n > 0 {
		c.in.initial -= n
		c.streams.all(func(st *Stream) bool {
			st.in.window -= n
			return true
		})
	}
}
