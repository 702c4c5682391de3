#!/usr/bin/env bash
# Installs other people's programs as far as that is possible here; tests without theirs are
# left out. It runs while the first steps do. The gate needs staticcheck only.
. .ci/lib.sh

# A fixed version: a new release of it must not make a run fail.
command -v staticcheck >/dev/null || go install honnef.co/go/tools/cmd/staticcheck@v0.8.2
[ -n "$full" ] || exit 0

missing=()
command -v curl >/dev/null || missing+=(curl)
command -v ab >/dev/null || missing+=(apache2-utils)
command -v wrk >/dev/null || missing+=(wrk)
command -v zsh >/dev/null || missing+=(zsh)
command -v fish >/dev/null || missing+=(fish)
[ -x /usr/sbin/nginx ] || missing+=(nginx-light)
[ -x /usr/sbin/apache2 ] || missing+=(apache2-bin)
[ -x /usr/sbin/haproxy ] || missing+=(haproxy)
[ -x /usr/sbin/nghttpd ] || missing+=(nghttp2-server)
command -v h2o >/dev/null || missing+=(h2o)
if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	timeout 60 apt-get -qq update >/dev/null 2>&1
	for package in "${missing[@]}"; do
		DEBIAN_FRONTEND=noninteractive timeout 60 apt-get -qq install -y --no-install-recommends "$package" >/dev/null 2>&1
	done
fi
if ! python3 -c 'import aiohttp, httpx, h2, hypercorn' 2>/dev/null; then
	timeout 180 python3 -m venv "$work/python" && timeout 180 "$work/python/bin/pip" -q install aiohttp 'httpx[brotli,http2,zstd]' hypercorn
fi >/dev/null 2>&1
if command -v npm >/dev/null && ! node -e 'require("undici")' 2>/dev/null; then
	timeout 180 npm install --silent --prefix "$work/node" undici
fi >/dev/null 2>&1
