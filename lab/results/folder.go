// Package results keeps what a run of the lab measured, in a folder, and makes reports of it.
//
// The folder has index.json, which says what was planned and left out, and a file for each
// measurement. All is written as it comes, so that a run that was interrupted can be
// reported too.
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// Format is the version of the folder's files. A reader refuses a larger one.
const Format = 1

// Index describes a run of the lab.
type Index struct {
	Format   int               `json:"format"`
	Command  []string          `json:"command"`
	Began    time.Time         `json:"began"`
	Ended    time.Time         `json:"ended,omitzero"` // zero: it was interrupted
	Machine  figures.Machine   `json:"machine"`
	Pinning  string            `json:"pinning"` // what the modes mean on this machine
	Versions map[string]string `json:"versions"`
	Baseline string            `json:"baseline"` // the server that ratios compare with
	Rounds   int               `json:"rounds"`
	RoundNS  int64             `json:"round_ns"`
	WarmUpNS int64             `json:"warm_up_ns"`
	Cases    []Case            `json:"cases"` // in the order of the report
	LeftOut  []LeftOut         `json:"left_out"`
	Notes    []string          `json:"notes,omitempty"` // to read with the figures
}

// Case is a scenario's variant in one mode.
type Case struct {
	Scenario string   `json:"scenario"`
	Case     string   `json:"case"`
	Mode     string   `json:"mode"`
	Servers  []string `json:"servers"`
}

// LeftOut is what was not measured. Empty fields stand for all.
type LeftOut struct {
	Server   string `json:"server,omitempty"`
	Scenario string `json:"scenario,omitempty"`
	Case     string `json:"case,omitempty"`
	Why      string `json:"why"`
}

// The modes.
const (
	Pinned   = "pinned"   // the server has a core, and the generator another one
	Unpinned = "unpinned" // both use all cores
)

// Measurement is one round of one server.
type Measurement struct {
	Scenario string   `json:"scenario"`
	Case     string   `json:"case"`
	Mode     string   `json:"mode"`
	Server   string   `json:"server"`
	Round    int      `json:"round"`   // from 1; 0 is the warm-up, which counts for memory and allocations alone
	Command  []string `json:"command"` // of the server
	// IdleByte is the resident memory that each of the idle connections took.
	IdleByte int64 `json:"idle_byte,omitempty"`
	// Allocs is the number of allocations per request of a server in Go, nil if unknown.
	Allocs *float64 `json:"allocs,omitempty"`
	// Run is the document of gale bench. Run.Server is the process that is compared.
	Run *figures.Run `json:"run,omitempty"`
	// Text is the output of a scenario that has no such document.
	Text string `json:"text,omitempty"`
}

// Folder is a folder of results.
type Folder struct {
	Dir          string
	Index        Index
	Measurements []Measurement
}

// Create makes the folder. It must not have results.
func Create(dir string, index Index) (*Folder, error) {
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err == nil {
		return nil, fmt.Errorf("%s has results already: name another folder", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	index.Format = Format
	f := &Folder{Dir: dir, Index: index}
	return f, f.SaveIndex()
}

// SaveIndex writes the index.
func (f *Folder) SaveIndex() error { return write(filepath.Join(f.Dir, "index.json"), &f.Index) }

// Add keeps m and writes its file.
func (f *Folder) Add(m Measurement) error {
	f.Measurements = append(f.Measurements, m)
	name := strings.Join([]string{m.Scenario, m.Case, m.Mode, m.Server, strconv.Itoa(m.Round)}, "_") + ".json"
	return write(filepath.Join(f.Dir, name), &m)
}

// write writes a file that is whole at any time.
func write(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Open reads a folder.
func Open(dir string) (*Folder, error) {
	f := &Folder{Dir: dir}
	if err := read(filepath.Join(dir, "index.json"), &f.Index); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s has no index.json: it is not a folder of results", dir)
		}
		return nil, err
	}
	if f.Index.Format < 1 || f.Index.Format > Format {
		return nil, fmt.Errorf("%s has format %d, and this program reads %d", dir, f.Index.Format, Format)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*_*_*_*_*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var m Measurement
		if err := read(name, &m); err != nil {
			return nil, err
		}
		f.Measurements = append(f.Measurements, m)
	}
	return f, nil
}

func read(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
