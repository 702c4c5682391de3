// Package lib lends memory and says so.
package lib

// Conn is lent to handlers.
//
//gale:owner request
type Conn struct{ buf []byte }

// Line returns the line. It is valid until the handler returns.
//
//gale:borrowed
func (c *Conn) Line() []byte { return c.buf }

// Msg is pooled.
//
//gale:owner pooled
type Msg struct{ b []byte }

// Get takes one from the pool.
//
//gale:acquire
func Get() *Msg { return &Msg{} }

// Free puts it back.
//
//gale:release
func (m *Msg) Free() {}

// Bytes is valid until Free.
//
//gale:borrowed
func (m *Msg) Bytes() []byte { return m.b }
