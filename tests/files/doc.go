// Package files has black-box tests of FS.
package files
