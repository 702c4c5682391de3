package figures

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// differences returns what was not the same in two runs: settings and URLs, and if around
// is true the tool, the machine and the server. Each is a name with both values.
func differences(a, b *Run, around bool) (all []string) {
	all = append(all, unequal("", members(a.Settings), members(b.Settings))...)
	all = append(all, unequal("", map[string]any{"urls": urls(a)}, map[string]any{"urls": urls(b)})...)
	if !around {
		return all
	}
	all = append(all, unequal("machine: ", members(a.Machine), members(b.Machine))...)
	return append(all, unequal("", surroundings(a), surroundings(b))...)
}

func surroundings(r *Run) map[string]any {
	m := map[string]any{"tool": r.Tool}
	if r.Server.isWatched() {
		m["server"] = r.Server.Command
		m["server's cores"] = r.Server.Cores
		m["server may use"] = r.Server.Allowed
	}
	return m
}

func urls(r *Run) (all []string) {
	for _, t := range r.Targets {
		all = append(all, fmt.Sprintf("%s %s (%d)", t.Method, t.URL, t.Weight))
	}
	return all
}

// members returns the fields of v by their names in the document.
func members(v any) map[string]any {
	m := map[string]any{}
	if text, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(text, &m)
	}
	return m
}

// unequal compares members, in the order of their names.
func unequal(prefix string, a, b map[string]any) (all []string) {
	names := maps.Clone(a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		va, vb := value(a[name]), value(b[name])
		if va != vb {
			all = append(all, fmt.Sprintf("%s%s: %s and %s", prefix, name, va, vb))
		}
	}
	return all
}

func value(v any) string {
	if v == nil {
		return "none"
	}
	if n, ok := v.(float64); ok {
		return decimal(n)
	}
	return printable(fmt.Sprint(v), 100)
}
