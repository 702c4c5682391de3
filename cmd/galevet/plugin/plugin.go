// Package plugin makes the analyzer a module plugin of golangci-lint. The README of the
// parent folder says how to build it in.
package plugin

import (
	"github.com/galehttp/gale/cmd/galevet/lifetimes"
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"
)

func init() { register.Plugin("galevet", New) }

type settings struct {
	Strict bool `json:"strict"`
}

type plugin struct{ settings settings }

// New returns the plugin. Its only setting is strict, a bool.
func New(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, err
	}
	return &plugin{s}, nil
}

// BuildAnalyzers returns the analyzer.
func (p *plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	if p.settings.Strict {
		if err := lifetimes.Analyzer.Flags.Set("strict", "true"); err != nil {
			return nil, err
		}
	}
	return []*analysis.Analyzer{lifetimes.Analyzer}, nil
}

// GetLoadMode says that the analyzer needs types.
func (p *plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
