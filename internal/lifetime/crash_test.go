package lifetime

import "testing"

// TestParseCrash proves what is read from the text of a crash.
func TestParseCrash(t *testing.T) {
	const signal = "[signal SIGSEGV: segmentation violation code=0x2 addr=0x7f00000012 pc=0x123]\n\n"
	const top = "goroutine 7 gp=0xc0 m=0 mp=0x1 [running]:\nruntime.throw({0x1, 0x2})\n\t/go/src/runtime/panic.go:1 +0x1 fp=0x1\n"
	const sig = "runtime.sigpanic()\n\t/go/src/runtime/signal_unix.go:9 +0x1\n"
	const gale = "github.com/galehttp/gale.(*RequestHeader).Peek(0xc0, {0x1, 0x2})\n\t/gale/header.go:5 +0x1\n"
	const user = "main.(*cache).get(...)\n\t/app/main.go:12 +0x1 fp=0xc1\n"
	for _, tt := range []struct {
		name, text string
		ok         bool
		caller     string
	}{
		{"fault", "fatal error: fault\n" + signal + top + sig + user + "created by main.main in goroutine 1\n\t/app/main.go:3 +0x1\n\ngoroutine 1:\n", true, "main.(*cache).get (/app/main.go:12)"},
		{"through others", "fatal error: fault\n" + signal + top + sig + "runtime.memmove()\n\t/go/src/runtime/memmove.s:1 +0x1\n" + gale + user, true, "main.(*cache).get (/app/main.go:12)"},
		{"panic", "panic: runtime error: invalid memory address\n" + signal + top + "panic({0x1, 0x2})\n\t/go/src/runtime/panic.go:2 +0x1\n" + sig + user, true, "main.(*cache).get (/app/main.go:12)"},
		{"panic, in short", "panic: runtime error: invalid memory address or nil pointer dereference\n" + signal + "goroutine 7 [running]:\n" + user, true, "main.(*cache).get (/app/main.go:12)"},
		{"a later panic", "panic: x\n" + signal + "goroutine 7 [running]:\n" + user, false, ""},
		{"without a program's frame", "x\n" + signal + top + sig + gale, true, "github.com/galehttp/gale.(*RequestHeader).Peek (/gale/header.go:5)"},
		{"no fault", "panic: x addr=0x12\n\n" + top + user, false, ""},
		{"no signal", "panic: x\n\n" + top + sig + user, false, ""},
		{"no number", "panic: x addr=0xzz\n\n" + top + sig + user, false, ""},
		{"cut off", "fatal error: fault\n" + signal[:50], false, ""},
		{"empty", "", false, ""},
	} {
		c, ok := parseCrash(tt.text, module)
		if ok != tt.ok || c.caller != tt.caller || ok && c.addr != 0x7f00000012 {
			t.Errorf("%s: %v %+v, want %v %q", tt.name, ok, c, tt.ok, tt.caller)
		}
	}
}
