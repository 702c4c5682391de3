// Package message has black-box tests of requests, responses, headers, and what they are made of.
package message
