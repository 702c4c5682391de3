package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// proxies are the servers that need another one behind them.
var proxies = map[string]bool{"reverse": true, "httputil": true, "nginx": true}

// upstream is the server behind all proxies. What it costs is not measured; it runs where
// the generator does.
type upstream struct{ *server }

// addrOf starts the upstream the first time and returns its address.
func (u *upstream) addrOf(dir string, o options) (string, error) {
	if u.server == nil {
		o.pin, o.upstream = false, nil // taskset makes its children stay on the generator's CPU
		s, err := startServer(dir, "gale", o)
		if err != nil {
			return "", err
		}
		u.server = s
	}
	return u.addr, nil
}

// nginxHead begins each configuration of nginx, whose folder is the first argument. The
// block http is left open.
const nginxHead = `
daemon off;
master_process off;
error_log stderr crit;
pid %[1]s/nginx.pid;
events { worker_connections 4096; }
http {
	access_log off;
	keepalive_requests 1000000000;
`

// nginxConf passes requests on over connections that are kept.
const nginxConf = nginxHead + `	upstream up {
		server %[3]s;
		keepalive 1024;
		keepalive_requests 1000000000;
	}
	server {
		listen %[2]s;
		location / {
			proxy_pass http://up;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Host $host;
			proxy_set_header X-Forwarded-For $remote_addr;
			proxy_set_header X-Forwarded-Host $host;
			proxy_set_header X-Forwarded-Proto $scheme;
		}
	}
}
`

// nginxArgs returns the command for nginx as a proxy.
func nginxArgs(dir, addr, to string) ([]string, error) {
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, addr, to), 0o600); err != nil {
		return nil, err
	}
	return []string{"nginx", "-p", dir, "-c", conf}, nil
}
