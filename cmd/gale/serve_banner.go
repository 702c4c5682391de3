package main

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBannerAddrs is how many addresses of this machine the banner lists.
const maxBannerAddrs = 4

// banner prints the folder that is served, the URLs to open, and what people should know
// about them.
func banner(w io.Writer, cfg *serveConfig, ln *listening, t *tlsSource) {
	var b strings.Builder
	fmt.Fprintf(&b, "Serving %s\n", visible(cfg.dir))
	if ln.note != "" {
		fmt.Fprintf(&b, "%s\n", ln.note)
	}
	all := urls(ln.Addr(), t.enabled())
	for _, u := range all {
		fmt.Fprintf(&b, "  %s\n", visible(u))
	}
	if cfg.unix.path != "" {
		fmt.Fprintf(&b, "  %s\n", visible(curlLine(string(cfg.unix.path), t.enabled())))
	}
	if cfg.qr.or(isTerminal(w)) {
		b.WriteString(phoneCode(phoneURL(ln.Addr(), all), hasColors(w), cfg.qr == "true"))
	}
	if t.fingerprint != "" {
		fmt.Fprintf(&b, "Browsers will show a warning: the certificate is self-signed. Its SHA-256 fingerprint is\n  %s\n", t.fingerprint)
	}
	if cfg.auth.enabled() && !t.enabled() && cfg.unix.path == "" {
		b.WriteString("Without TLS the password is sent unencrypted: add -tls-self-signed or -tls-cert.\n")
	}
	if cfg.upload.on && !cfg.auth.enabled() {
		b.WriteString("Everybody who can open these addresses can upload files: add -auth to ask for a password.\n")
	}
	b.WriteString("Press Ctrl-C to stop.\n")
	_, _ = io.WriteString(w, b.String())
}

// visible returns s, or s in quotes if it has characters that a terminal may not show as
// they are.
func visible(s string) string {
	hidden := func(r rune) bool { return !strconv.IsPrint(r) }
	if !utf8.ValidString(s) || strings.ContainsFunc(s, hidden) {
		return strconv.Quote(s)
	}
	return s
}

// curlLine returns a command for a shell that gets the root from a UNIX socket.
func curlLine(path string, secure bool) string {
	if strings.Trim(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,@%") != "" {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	if secure {
		return "curl --insecure --unix-socket " + path + " https://localhost/"
	}
	return "curl --unix-socket " + path + " http://localhost/"
}

// urls returns the URLs at which a listener can be reached, the one for this machine
// first.
func urls(addr net.Addr, secure bool) []string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return []string{"unix:" + addr.String()}
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
		// A listener on 0.0.0.0 has no IPv6.
		if len(list) <= maxBannerAddrs && (ip.To4() != nil || tcp.IP.To4() == nil) {
			list = append(list, url(ip.String()))
		}
	}
	return list
}

// localIPs returns the addresses at which other machines can reach this one, those of
// IPv4 first: they are shorter.
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
	slices.SortStableFunc(ips, func(a, b net.IP) int { return len(shortIP(a)) - len(shortIP(b)) })
	return ips
}

// shortIP returns an address of IPv4 in 4 bytes, and one of IPv6 in 16.
func shortIP(ip net.IP) net.IP {
	if ip4 := ip.To4(); ip4 != nil {
		return ip4
	}
	return ip
}

// phoneURL returns the first URL that another machine can open, or "". all are the URLs
// of a listener on addr.
func phoneURL(addr net.Addr, all []string) string {
	tcp, ok := addr.(*net.TCPAddr)
	switch {
	case !ok || tcp.IP.IsLoopback():
		return ""
	case tcp.IP.IsUnspecified():
		all = all[1:] // without localhost
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// phoneCode returns the QR code of url, or the reason why there is none if a flag has
// asked for it.
func phoneCode(url string, colors, asked bool) string {
	if url == "" {
		if asked {
			return "No QR code: other machines can't reach this address. Leave -addr out, or give one of this machine's network.\n"
		}
		return ""
	}
	code, err := newQRCode(url)
	if err != nil {
		return "" // no URL of a listener is too long
	}
	return code.text(colors)
}
