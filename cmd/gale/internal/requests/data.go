package requests

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// maxFile is the size of the largest file that is read, in bytes: it is held in memory.
const maxFile = 256 << 20

// Data are the rows of a CSV file.
type Data struct {
	file    string
	columns []string
	cells   []string // row by row
	lines   []int    // the line of the file where each row begins
	random  bool
	used    bool // a template has a column
}

// ReadData reads a CSV file (RFC 4180) whose first row has the names of the columns. Each
// request uses the next row, after the last one the first again. With random, each request
// uses a row that is chosen at random; the choice is the same in each run.
func ReadData(file string, random bool) (*Data, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	d := &Data{file: file, random: random}
	if err := d.parse(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// Used reports whether the requests of a source use a value of d.
func (d *Data) Used() bool { return d.used }

// Column returns the name of the first column.
func (d *Data) Column() string { return d.columns[0] }

func (d *Data) parse(text []byte) error {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("write it as CSV: %w", err)
		}
		if d.columns == nil {
			if err := d.setColumns(row); err != nil {
				return err
			}
			continue
		}
		line, _ := r.FieldPos(0)
		d.cells = append(d.cells, row...)
		d.lines = append(d.lines, line)
	}
	if len(d.lines) == 0 {
		return errors.New("write the names of the columns into the first row, and at least one row of values")
	}
	return nil
}

func (d *Data) setColumns(row []string) error {
	for i, name := range row {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return fmt.Errorf("give column %d a name: its place in the first row is empty", i+1)
		case strings.ContainsAny(name, "{}|"):
			return fmt.Errorf("rename the column %q: a name can't contain { } or |", name)
		case slices.Contains(d.columns, name):
			return fmt.Errorf("rename one of the two columns %q", name)
		}
		d.columns = append(d.columns, name)
	}
	return nil
}

// row returns the values for the request with number n.
func (d *Data) row(n int64) []string {
	rows := uint64(len(d.lines))
	at := uint64(n)
	if d.random {
		var p rand.PCG
		p.Seed(at, 0x67616c65)
		at = p.Uint64()
	}
	at %= rows
	width := uint64(len(d.columns))
	return d.cells[at*width : (at+1)*width]
}

// check returns the error of the first value of a column that ok refuses.
func (d *Data) check(column int, ok func(value string) bool, why string) error {
	for i, line := range d.lines {
		if !ok(d.cells[i*len(d.columns)+column]) {
			return fmt.Errorf("%s: line %d: change the value of %q: %s", d.file, line, d.columns[column], why)
		}
	}
	return nil
}

// readFile reads a file that the command line names. Its errors say what to do.
func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %q: check the spelling", file)
	case err != nil:
		return nil, fmt.Errorf("can't read %q: check its permissions", file)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%q is a folder: give a file", file)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("can't read %q: %w", file, err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("%q is too large: use a file of at most %d MiB", file, maxFile>>20)
	}
	return text, nil
}
