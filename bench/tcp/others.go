package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/galehttp/gale"
)

// others are servers that are installed or not. They answer with the same body; the other
// fields of their answers are their own.
var others = map[string]func(dir, addr string, o options) ([]string, error){
	"nginx":   nginxHTTP2,
	"h2o":     h2oHTTP2,
	"nghttpd": nghttpdHTTP2,
}

// lookPath returns where a program is, "" if it is not installed. Servers may be where
// only root looks.
func lookPath(name string) string {
	for _, p := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	return ""
}

// writeSite writes what file servers serve, and a certificate.
func writeSite(dir string) error {
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "www"), 0o700); err != nil {
		return err
	}
	for name, text := range map[string]string{"www/index.html": "Hello, world!", "cert.pem": string(cert), "key.pem": string(key)} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const nginxHTTP2Conf = nginxHead + `	default_type text/plain;
	server {
		listen %[2]s%[3]s http2;
		%[4]s
		location / { return 200 "Hello, world!"; }
	}
}
`

func nginxHTTP2(dir, addr string, o options) ([]string, error) {
	ssl, cert := "", ""
	if o.tls {
		ssl, cert = " ssl", fmt.Sprintf("ssl_certificate %[1]s/cert.pem; ssl_certificate_key %[1]s/key.pem; ssl_protocols TLSv1.2 TLSv1.3;", dir)
	}
	conf := filepath.Join(dir, "nginx-http2.conf")
	err := os.WriteFile(conf, fmt.Appendf(nil, nginxHTTP2Conf, dir, addr, ssl, cert), 0o600)
	return []string{lookPath("nginx"), "-p", dir, "-c", conf}, err
}

func h2oHTTP2(dir, addr string, o options) ([]string, error) {
	host, port, _ := strings.Cut(addr, ":")
	var c strings.Builder
	if u, err := user.Current(); err == nil && u.Uid == "0" {
		fmt.Fprintf(&c, "user: %s\n", u.Username) // otherwise it becomes a user that can't read the files
	}
	fmt.Fprintf(&c, "num-threads: 1\nerror-log: /dev/null\nlisten:\n  host: %s\n  port: %s\n", host, port)
	if o.tls {
		fmt.Fprintf(&c, "  ssl:\n    neverbleed: OFF\n    ocsp-update-interval: 0\n    certificate-file: %[1]s/cert.pem\n    key-file: %[1]s/key.pem\n", dir)
	}
	fmt.Fprintf(&c, "hosts:\n  default:\n    paths:\n      /:\n        file.dir: %s/www\n", dir)
	conf := filepath.Join(dir, "h2o.conf")
	err := os.WriteFile(conf, []byte(c.String()), 0o600)
	return []string{lookPath("h2o"), "-m", "worker", "-c", conf}, err
}

func nghttpdHTTP2(dir, addr string, o options) ([]string, error) {
	host, port, _ := strings.Cut(addr, ":")
	args := []string{lookPath("nghttpd"), "-a", host, "-n", "1", "-d", filepath.Join(dir, "www")}
	if o.tls {
		return append(args, port, filepath.Join(dir, "key.pem"), filepath.Join(dir, "cert.pem")), nil
	}
	return append(args, "--no-tls", port), nil
}
