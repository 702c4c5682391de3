package servers

import (
	"fmt"
	"net"
	"os/user"
	"strings"

	"github.com/galehttp/gale/lab/servers/work"
)

// nginxArgs writes nginx's configuration. With one worker there is one process.
func nginxArgs(s *Server, b *Builder, o Options) ([]string, error) {
	var c strings.Builder
	fmt.Fprintf(&c, "daemon off;\nerror_log stderr crit;\npid %s/nginx-%s.pid;\nworker_rlimit_nofile 65536;\n", b.tmp, strings.ReplaceAll(o.Addr, ":", "-"))
	if u, err := user.Current(); err == nil && u.Uid == "0" {
		fmt.Fprintf(&c, "user %s;\n", u.Username) // the folder may be readable for its owner alone
	}
	if o.Workers == 1 {
		c.WriteString("master_process off;\n")
	} else {
		fmt.Fprintf(&c, "worker_processes %d;\n", o.Workers)
	}
	c.WriteString("events { worker_connections 30000; }\nhttp {\n\taccess_log off;\n\tserver_tokens off;\n\tsendfile on;\n\ttcp_nopush on;\n" +
		"\topen_file_cache max=100 inactive=1h;\n\topen_file_cache_valid 1h;\n" +
		"\tkeepalive_requests 1000000000;\n\tkeepalive_timeout 1h;\n\tclient_max_body_size 32m;\n" +
		"\ttypes { \"" + work.PlainText + "\" txt; }\n\tdefault_type \"" + work.PlainText + "\";\n")
	if o.Needs.Proxy {
		fmt.Fprintf(&c, "\tupstream up {\n\t\tserver %s;\n\t\tkeepalive 1024;\n\t\tkeepalive_requests 1000000000;\n\t}\n", o.To)
	}
	listen := o.Addr + " backlog=4096"
	if o.Needs.TLS {
		listen += " ssl"
	}
	if o.Needs.HTTP2 {
		listen += " http2"
	}
	fmt.Fprintf(&c, "\tserver {\n\t\tlisten %s;\n", listen)
	if o.Needs.TLS {
		fmt.Fprintf(&c, "\t\tssl_certificate %[1]s/cert.pem;\n\t\tssl_certificate_key %[1]s/key.pem;\n\t\tssl_protocols TLSv1.2 TLSv1.3;\n", b.tmp)
	}
	if o.Needs.HTTP2 {
		c.WriteString("\t\thttp2_max_requests 1000000000;\n")
	}
	if o.Needs.Proxy {
		c.WriteString("\t\tlocation / {\n\t\t\tproxy_pass http://up;\n\t\t\tproxy_http_version 1.1;\n\t\t\tproxy_set_header Connection \"\";\n\t\t\tproxy_set_header Host $host;\n" +
			"\t\t\tproxy_set_header X-Forwarded-For $remote_addr;\n\t\t\tproxy_set_header X-Forwarded-Host $host;\n\t\t\tproxy_set_header X-Forwarded-Proto $scheme;\n\t\t}\n")
	} else {
		fmt.Fprintf(&c, "\t\tlocation = / { return 200 \"%s\"; }\n\t\tlocation = /fields {\n", work.Greeting)
		for _, f := range work.Fields {
			fmt.Fprintf(&c, "\t\t\tadd_header %s \"%s\";\n", f[0], f[1])
		}
		fmt.Fprintf(&c, "\t\t\treturn 200 \"%s\";\n\t\t}\n\t\tlocation /files/ { root %s/www; }\n", work.Greeting, b.tmp)
	}
	c.WriteString("\t}\n}\n")
	path, err := b.config(o, s.Name, c.String())
	return []string{"-p", b.tmp, "-c", path}, err
}

// h2oArgs writes h2o's configuration. It speaks HTTP/2 on each of its listeners.
func h2oArgs(s *Server, b *Builder, o Options) ([]string, error) {
	host, port, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return nil, err
	}
	var c strings.Builder
	if u, err := user.Current(); err == nil && u.Uid == "0" {
		fmt.Fprintf(&c, "user: %s\n", u.Username) // otherwise it becomes a user that can't read the files
	}
	fmt.Fprintf(&c, "num-threads: %d\nmax-connections: 30000\nhttp1-request-timeout: 3600\nerror-log: /dev/null\nserver-name: %s\nlisten:\n  host: %s\n  port: %s\n",
		o.Workers, work.Server, host, port)
	if o.Needs.TLS {
		fmt.Fprintf(&c, "  ssl:\n    neverbleed: OFF\n    ocsp-update-interval: 0\n    certificate-file: %[1]s/cert.pem\n    key-file: %[1]s/key.pem\n", b.tmp)
	}
	fmt.Fprintf(&c, "file.index: [index.txt]\nfile.etag: OFF\nfile.mime.settypes:\n  \"%[1]s\": [.txt]\nfile.mime.setdefaulttype: \"%[1]s\"\nhosts:\n  default:\n    paths:\n", work.PlainText)
	fmt.Fprintf(&c, "      /fields:\n        file.file: %s/www/index.txt\n", b.tmp)
	for _, f := range work.Fields {
		fmt.Fprintf(&c, "        header.set: \"%s: %s\"\n", f[0], f[1])
	}
	fmt.Fprintf(&c, "      /:\n        file.dir: %s/www\n", b.tmp)
	path, err := b.config(o, s.Name, c.String())
	return []string{"-m", "worker", "-c", path}, err
}
