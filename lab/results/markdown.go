package results

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/galehttp/gale/internal/measure/page"
)

// WriteMarkdown writes a report as Markdown. Bars and charts are left out: the tables have
// their figures.
func WriteMarkdown(w io.Writer, doc *page.Document) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s\n\n%s\n\n**%s.** %s\n", doc.Title, escape(doc.Lead), doc.Verdict.Word, doc.Verdict.Text)
	for i, n := range doc.Verdict.Notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "- %s\n", escape(n))
	}
	for _, s := range doc.Sections {
		fmt.Fprintf(b, "\n## %s\n", s.Title)
		for _, text := range s.Text {
			fmt.Fprintf(b, "\n%s\n", escape(text))
		}
		for _, p := range s.Parts {
			writePart(b, p)
		}
	}
	return b.Flush()
}

func writePart(b *bufio.Writer, p page.Part) {
	switch p := p.(type) {
	case *page.Table:
		writeTable(b, p)
	case *page.Facts:
		heading(b, p.Title)
		b.WriteString("\n| | |\n| --- | --- |\n")
		for _, pair := range p.Pairs {
			fmt.Fprintf(b, "| %s | %s |\n", escape(pair[0]), escape(pair[1]))
		}
	case *page.Command:
		heading(b, p.Title)
		fmt.Fprintf(b, "\n```\n%s\n```\n", p.Text)
	}
}

func heading(b *bufio.Writer, title string) {
	if title != "" {
		fmt.Fprintf(b, "\n### %s\n", title)
	}
}

func writeTable(b *bufio.Writer, t *page.Table) {
	heading(b, t.Title)
	b.WriteByte('\n')
	marked := false
	for _, r := range t.Rows {
		marked = marked || r.Mark != ""
	}
	for _, c := range t.Columns {
		fmt.Fprintf(b, "| %s ", escape(c.Title))
	}
	if marked {
		b.WriteString("| Note ")
	}
	b.WriteString("|\n")
	for _, c := range t.Columns {
		if c.Left {
			b.WriteString("| --- ")
		} else {
			b.WriteString("| ---: ")
		}
	}
	if marked {
		b.WriteString("| --- ")
	}
	b.WriteString("|\n")
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			fmt.Fprintf(b, "| %s ", escape(c.Text))
		}
		if marked {
			fmt.Fprintf(b, "| %s ", escape(r.Mark))
		}
		b.WriteString("|\n")
	}
}

var escaper = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "~", `\~`, "*", `\*`)

// escape makes text safe in a paragraph or a cell.
func escape(s string) string { return escaper.Replace(s) }
