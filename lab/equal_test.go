package main

import (
	"os"
	"testing"

	"github.com/galehttp/gale/lab/answers"
	"github.com/galehttp/gale/lab/plan"
	"github.com/galehttp/gale/lab/servers"
)

// TestServersAnswerEqually starts each server in Go, or with LAB_ALL=1 each that is
// installed, and checks its answers to all scenarios that it can serve.
func TestServersAnswerEqually(t *testing.T) {
	b, err := servers.NewBuilder(".", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	event, err := servers.Find("gale-event")
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := b.Start(t.Context(), event, servers.Options{Workers: 1}, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Stop()
	for _, s := range servers.All() {
		t.Run(s.Name, func(t *testing.T) {
			if why := s.Missing(); why != "" {
				t.Skip(why)
			}
			if !s.Go() && os.Getenv("LAB_ALL") == "" {
				t.Skip("LAB_ALL isn't set")
			}
			for needs, cases := range casesByNeeds(s) {
				checkCases(t, b, s, needs, cases, upstream.Addr)
			}
		})
	}
}

// casesByNeeds returns the cases that s can serve, by how it must be started.
func casesByNeeds(s *servers.Server) map[plan.Needs][]plan.Case {
	by := map[plan.Needs][]plan.Case{}
	for _, sc := range plan.Scenarios() {
		for _, c := range sc.Cases {
			if sc.Kind == plan.Servers && s.Lacks(&c) == "" {
				by[c.Needs] = append(by[c.Needs], c)
			}
		}
	}
	return by
}

func checkCases(t *testing.T, b *servers.Builder, s *servers.Server, needs plan.Needs, cases []plan.Case, upstream string) {
	p, err := b.Start(t.Context(), s, servers.Options{Workers: 1, Needs: needs, To: upstream}, -1)
	if err != nil {
		t.Error(err)
		return
	}
	defer p.Stop()
	for _, c := range cases {
		extra, err := answers.Check(t.Context(), p.Addr, &c)
		if err != nil {
			t.Errorf("%s %s: %v", c.Request.Path, c.Name, err)
		}
		if len(extra) > 0 {
			t.Logf("%s %s: also %q", c.Request.Path, c.Name, extra)
		}
	}
}
