// Package client has black-box tests of clients, as their callers and servers see them.
package client
