// Package h2 has black-box tests of HTTP/2: servers and clients.
package h2
