package plan_test

import (
	"slices"
	"testing"

	"github.com/galehttp/gale/lab/plan"
	"github.com/galehttp/gale/lab/servers"
)

func TestScenariosAreComplete(t *testing.T) {
	for _, name := range []string{
		"hello", "pipelined", "headers", "limited-conn", "no-keepalive", "long-connections", "efficiency", "bodies", "idle", "json",
		"tls", "files", "blocking", "compress", "baseline-h2", "baseline-h2c", "proxy", "client", "gobench", "echo-ws",
	} {
		if plan.Find(name) == nil {
			t.Errorf("no scenario %q", name)
		}
	}
	seen := map[string]bool{}
	for _, s := range plan.Scenarios() {
		if seen[s.Name] || s.Claim == "" {
			t.Errorf("scenario %q is there twice or has no claim", s.Name)
		}
		seen[s.Name] = true
		if (s.Missing != "") == (len(s.Cases) > 0) {
			t.Errorf("scenario %q has %d cases and is missing because of %q", s.Name, len(s.Cases), s.Missing)
		}
		cases := map[string]bool{}
		for _, c := range s.Cases {
			if cases[c.Name] || c.Name == "" {
				t.Errorf("case %q of %q has no name of its own", c.Name, s.Name)
			}
			cases[c.Name] = true
			checkCase(t, &s, &c)
		}
	}
}

func checkCase(t *testing.T, s *plan.Scenario, c *plan.Case) {
	if s.Kind != plan.Servers {
		return
	}
	if c.Request.Method == "" || c.Request.Path == "" || c.Request.Want.Body == nil || c.Load.Connections == 0 {
		t.Errorf("%s %s is incomplete", s.Name, c.Name)
	}
	able := slices.DeleteFunc(servers.All(), func(s *servers.Server) bool { return s.Lacks(c) != "" })
	if len(able) < 2 {
		t.Errorf("%s %s has %d servers to compare", s.Name, c.Name, len(able))
	}
	for _, name := range []string{"gale-event", servers.Baseline} {
		if !slices.ContainsFunc(able, func(s *servers.Server) bool { return s.Name == name }) {
			t.Errorf("%s can't serve %s %s", name, s.Name, c.Name)
		}
	}
}

func TestPayloadHasItsLength(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 1 << 20} {
		if got := len(plan.Payload(n)); got != n {
			t.Errorf("Payload(%d) has %d bytes", n, got)
		}
	}
}
