//go:build linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// folders are what is served. outside/ holds what must never be.
type folders struct {
	site   string // files of all kinds
	app    string // a single-page application
	many   string // 10,000 files
	load   string // for load and memory
	home   string // for what programs write
	cert   string
	key    string
	hashes string
}

// Texts in files, by which answers are recognized.
const (
	secret    = "outside the folder"
	hidden    = "hidden file"
	plain     = "plain text\n"
	index     = "<!doctype html><title>application</title>"
	about     = "<!doctype html><title>about</title>"
	notFound  = "<!doctype html><title>custom page</title>"
	precoded  = "precompressed "
	manyFiles = 10_000
)

// oddNames are names that need escapes in URLs or in HTML.
var oddNames = []string{"two words.txt", "100%.txt", "%41.txt", "a#b.txt", "a?b.txt", `a"b<c>&d.txt`, "grüße.txt", "line\nbreak.txt", "not\xffutf8.txt"}

func makeFolders(work string) (*folders, error) {
	f := &folders{}
	for _, d := range []struct {
		name string
		path *string
	}{{"outside/site", &f.site}, {"app", &f.app}, {"many", &f.many}, {"load", &f.load}, {"home", &f.home}} {
		*d.path = filepath.Join(work, d.name)
		if err := os.MkdirAll(*d.path, 0o755); err != nil {
			return nil, err
		}
	}
	outside := filepath.Dir(f.site)
	files := map[string]string{
		filepath.Join(outside, "secret.txt"): secret,
		filepath.Join(work, "htpasswd"):      "user:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n",
		filepath.Join(f.app, "index.html"):   index,
		filepath.Join(f.app, "main.js"):      "main()",
		filepath.Join(f.load, "1k.txt"):      text(1 << 10),
		filepath.Join(f.load, "10k.txt"):     text(10 << 10),
		filepath.Join(f.load, "100k.txt"):    text(100 << 10),
		filepath.Join(f.load, "1m.txt"):      text(1 << 20),
		f.in("plain.txt"):                    plain,
		f.in("large.txt"):                    text(100 << 10),
		f.in("large.bin"):                    string(make([]byte, 64<<20)),
		f.in("coded.js"):                     text(100 << 10),
		f.in("about.html"):                   about,
		f.in("404.html"):                     notFound,
		f.in(".env"):                         hidden,
		f.in(".git/config"):                  hidden,
		f.in("sub/file.txt"):                 plain,
		f.in("evil.example/file.txt"):        plain,
		f.in("changing.txt"):                 "0000",
		f.in("removed.txt"):                  plain,
	}
	for i, name := range oddNames { // each in a folder of its own, because one may spoil a listing
		files[f.in(fmt.Sprintf("odd/%d/%s", i, name))] = name
	}
	for i := range 1000 {
		files[filepath.Join(f.load, "list", fmt.Sprintf("file-%d.txt", i))] = ""
	}
	for i := range manyFiles {
		files[filepath.Join(f.many, fmt.Sprintf("file-%d.txt", i))] = ""
	}
	for name, s := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, []byte(s), 0o644); err != nil {
			return nil, err
		}
	}
	// Precompressed files aren't older than what they were made of.
	for suffix, coding := range map[string]string{".br": "br", ".gz": "gzip"} {
		name := f.in("coded.js" + suffix)
		if err := os.WriteFile(name, []byte(precoded+coding), 0o644); err != nil {
			return nil, err
		}
	}
	if err := syscall.Mkfifo(f.in("fifo"), 0o644); err != nil {
		return nil, err
	}
	if err := os.Symlink(outside, f.in("out")); err != nil {
		return nil, err
	}
	// Servers may not trust the time stamps of files that were made in this second.
	time.Sleep(3 * time.Second)
	f.hashes = filepath.Join(work, "htpasswd")
	f.cert, f.key = filepath.Join(work, "cert.pem"), filepath.Join(work, "key.pem")
	return f, makeCertificate(f.cert, f.key)
}

func (f *folders) in(name string) string { return filepath.Join(f.site, name) }

// replace puts the paths of files into flags.
func (f *folders) replace(arg string) string {
	switch arg {
	case "CERT":
		return f.cert
	case "KEY":
		return f.key
	case "HTPASSWD":
		return f.hashes
	}
	return arg
}

// text returns n bytes that look like text: they get about half as long if compressed.
func text(n int) string {
	r := mrand.New(mrand.NewPCG(1, uint64(n)))
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%s ", strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(4))+string(rune('a'+r.IntN(26))))
	}
	return b.String()[:n]
}

func makeCertificate(certFile, keyFile string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o644); err != nil {
		return err
	}
	return os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}
