package lifetime

import "testing"

// BenchmarkLoan is what one guarded request costs, besides its fresh context.
func BenchmarkLoan(b *testing.B) {
	for name, g := range guards(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l := g.Begin(Origin{Kind: "handler", Handler: "main.h", Method: "GET", Path: "/users/1", Peer: "127.0.0.1:1234", ID: 1})
				head, body := l.Alloc(1000), l.Alloc(2000)
				_, _ = append(head, "GET"...), append(body, "a"...)
				l.End()
			}
		})
	}
}

func BenchmarkSample(b *testing.B) {
	g := New(Config{Every: 1024})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g.Sample()
		}
	})
}

// BenchmarkUse is a call of Use while the loan lasts, after the first few.
func BenchmarkUse(b *testing.B) {
	l := New(Config{}).Begin(Origin{})
	for b.Loop() {
		l.Use()
	}
}
