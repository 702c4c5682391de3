package uselib

import "lib"

var last []byte

func Serve(c *lib.Conn) {
	last = c.Line() // want `what Line returned`
}

func Message() []byte {
	m := lib.Get()
	defer m.Free()
	return m.Bytes() // want `return a copy`
}

func Copied() []byte {
	m := lib.Get()
	defer m.Free()
	return append([]byte(nil), m.Bytes()...)
}
