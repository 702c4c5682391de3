#!/usr/bin/env bash
# Installs the peers that aren't written in Go into DIR, and nothing elsewhere: ws for Node and
# websockets for Python. Then GALE_WEBSOCKET_PEERS=DIR go test . uses them.
#
#   tests/websocket/peers.sh DIR
#
# It needs npm and python3 with venv. What can't be installed is told and left out.
set -uo pipefail
[ $# = 1 ] || { sed -n 2,7p "$0"; exit 2; }
mkdir -p "$1" && cd "$1" || exit 1
if [ ! -e node_modules/ws/package.json ]; then
	command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix . ws@8.18.3 >/dev/null || echo "LEFT OUT: ws for Node can't be installed"
fi
if ! venv/bin/python -c 'import websockets' 2>/dev/null; then
	python3 -m venv venv && venv/bin/pip install -q --disable-pip-version-check websockets==15.0.1 || echo "LEFT OUT: websockets for Python can't be installed"
fi
