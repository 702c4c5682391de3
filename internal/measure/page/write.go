package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the files below
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"sync"
)

var (
	//go:embed assets/page.html
	pageText string
	//go:embed assets/page.css
	styleText string
	//go:embed assets/page.js
	scriptText string
	//go:embed assets/uplot/uPlot.iife.min.js
	uplotText string
	//go:embed assets/uplot/uPlot.min.css
	uplotStyle string
	//go:embed assets/uplot/LICENSE
	uplotLicence string
)

// policy is the Content-Security-Policy of a page. Its style and its scripts are allowed by
// their hashes. Nothing can be requested.
var policy = sync.OnceValue(func() string {
	return "default-src 'none'; style-src " + hashSource(uplotStyle) + " " + hashSource(styleText) +
		"; script-src " + hashSource(uplotText) + " " + hashSource(scriptText) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
})

func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"kind": kind,
	}).Parse(pageText))
})

// kind returns the name of a part's template.
func kind(p any) string {
	switch p.(type) {
	case *Table:
		return "table"
	case *Facts:
		return "facts"
	case *barsView:
		return "bars"
	case *chartView:
		return "chart"
	case *Command:
		return "command"
	}
	return ""
}

// view is what the template reads.
type view struct {
	*Document
	Policy             string
	UplotStyle, Style  template.CSS
	Uplot, Script      template.JS
	Licence            template.HTML
	Sections           []sectionView
	Charts, Attached   template.JS // JSON
	HasCharts, HasData bool
}

type sectionView struct {
	*Section
	ID    string
	Parts []any
}

// WriteDocument writes doc as HTML. The page has some 85 kB and what doc adds: of a chart,
// lines over time have at most 600 points and its table at most 60 rows. The error is one of
// w, or says that doc.Data can't be JSON, or which chart or table is not valid.
func WriteDocument(w io.Writer, doc *Document) error {
	v := &view{
		Document:   doc,
		Policy:     policy(),
		UplotStyle: template.CSS(uplotStyle),
		Style:      template.CSS(styleText),
		Uplot:      template.JS(uplotText),
		Script:     template.JS(scriptText),
		Licence:    template.HTML("<!--\nThe charts are drawn by uPlot.\n\n" + uplotLicence + "\n-->"),
	}
	charts, err := v.addSections(doc.Sections)
	if err != nil {
		return err
	}
	v.HasCharts = len(charts) > 0
	if v.Charts, err = script(charts); err != nil {
		return err
	}
	if doc.Data != nil {
		v.HasData = true
		if v.Attached, err = script(doc.Data); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	if err := pageTemplate().Execute(&page, v); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	_, err = w.Write(bytes.ToValidUTF8(page.Bytes(), []byte("\uFFFD")))
	return err
}

// addSections fills v.Sections and returns the data of their charts.
func (v *view) addSections(sections []Section) ([]chartData, error) {
	charts, n := []chartData{}, 0
	for i := range sections {
		s := sectionView{Section: &sections[i], ID: "s" + strconv.Itoa(i+1)}
		for _, p := range s.Section.Parts {
			switch p := p.(type) {
			case *Chart:
				n++
				view, err := newChartView(p, "c"+strconv.Itoa(n))
				if err != nil {
					return nil, err
				}
				if !view.Nothing {
					charts = append(charts, view.data())
				}
				s.Parts = append(s.Parts, view)
			case *Table:
				if err := p.check(); err != nil {
					return nil, err
				}
				s.Parts = append(s.Parts, p)
			case *Bars:
				s.Parts = append(s.Parts, newBarsView(p))
			default:
				s.Parts = append(s.Parts, p)
			}
		}
		v.Sections = append(v.Sections, s)
	}
	return charts, nil
}

// script returns v as JSON that can stand in a script element: it has no "<", and no
// characters that end a line of JavaScript.
func script(v any) (template.JS, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, bytes.ToValidUTF8(text, []byte("\uFFFD")))
	return template.JS(escaped.String()), nil
}
