package main

import (
	"errors"
	"regexp"
	"strings"
)

// isAssignment reports whether a word sets a variable of the environment.
var isAssignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`).MatchString

// splitWords splits a command line into words. Within quotes spaces belong to a word. A
// backslash takes the next character as it is, except within single quotes.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune // the open one, or 0
	inWord, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			inWord, escaped = true, true
		case r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			inWord, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
			}
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	switch {
	case quote != 0:
		return nil, errors.New("a quote isn't closed")
	case escaped:
		return nil, errors.New("there is nothing after the last backslash")
	case inWord:
		words = append(words, word.String())
	}
	return words, nil
}
