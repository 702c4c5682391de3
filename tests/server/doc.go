// Package server has black-box tests of servers, as their clients and handlers see them.
package server
