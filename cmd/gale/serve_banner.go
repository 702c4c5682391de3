package main

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// maxBannerAddrs is how many addresses of this machine the banner lists.
const maxBannerAddrs = 4

// banner prints the folder that is served and the URLs to open.
func banner(w io.Writer, cfg *serveConfig, addr net.Addr, t *tlsSource) {
	var b strings.Builder
	fmt.Fprintf(&b, "Serving %s\n", cfg.dir)
	for _, u := range urls(addr, t.enabled()) {
		fmt.Fprintf(&b, "  %s\n", u)
	}
	if t.fingerprint != "" {
		fmt.Fprintf(&b, "Browsers will show a warning: the certificate is self-signed. Its SHA-256 fingerprint is\n  %s\n", t.fingerprint)
	}
	if cfg.auth.set && !t.enabled() {
		b.WriteString("Without TLS the password is sent unencrypted: add -tls-self-signed or -tls-cert.\n")
	}
	b.WriteString("Press Ctrl-C to stop.\n")
	_, _ = io.WriteString(w, b.String())
}

// urls returns the URLs at which a listener can be reached.
func urls(addr net.Addr, secure bool) []string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return []string{addr.String()}
	}
	scheme, usual := "http://", 80
	if secure {
		scheme, usual = "https://", 443
	}
	url := func(host string) string {
		if tcp.Port == usual {
			if strings.Contains(host, ":") {
				host = "[" + host + "]"
			}
			return scheme + host + "/"
		}
		return scheme + net.JoinHostPort(host, strconv.Itoa(tcp.Port)) + "/"
	}
	if !tcp.IP.IsUnspecified() {
		return []string{url(tcp.IP.String())}
	}
	list := []string{url("localhost")}
	for _, ip := range localIPs() {
		if len(list) <= maxBannerAddrs {
			list = append(list, url(ip.String()))
		}
	}
	return list
}

// localIPs returns the addresses at which other machines can reach this one.
func localIPs() []net.IP {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var ips []net.IP
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			ips = append(ips, n.IP)
		}
	}
	return ips
}
