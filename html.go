package gale

import "github.com/galehttp/gale/internal/bytesconv"

// htmlEscapes holds what stands for the bytes that mean something in HTML text
// and in quoted attribute values. They are the ones of html.EscapeString.
var htmlEscapes = [256]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&#34;", '\'': "&#39;"}

// AppendHTMLEscape appends s to dst, with & < > " ' as character references,
// and returns the extended slice.
func AppendHTMLEscape(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		if esc := htmlEscapes[s[i]]; esc != "" {
			dst = append(append(dst, s[start:i]...), esc...)
			start = i + 1
		}
	}
	return append(dst, s[start:]...)
}

// AppendHTMLEscapeBytes is [AppendHTMLEscape] for bytes.
func AppendHTMLEscapeBytes(dst, s []byte) []byte {
	return AppendHTMLEscape(dst, bytesconv.B2S(s))
}
