// Package page writes reports of load tests as HTML. A report is one file that opens
// offline: its style, its script and its data are inside, and its Content-Security-Policy
// forbids all requests.
//
// Write makes the report of one run. WriteDocument makes a report of text, tables, bars and
// charts that the caller puts together.
//
// The charts are drawn by uPlot. assets/uplot/README.md says how to renew it. Each chart
// has a table with the same values, for readers without a script, for screen readers and
// for paper.
package page
