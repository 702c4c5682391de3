#!/usr/bin/env bash
# Makes the Go code of greet.proto. It needs protoc and the generators:
#
#   apt-get install protobuf-compiler
#   go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
#   go install connectrpc.com/connect/v2/cmd/protoc-gen-connect-go@v2.0.2
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
protoc --go_out=. --go_opt=paths=source_relative --connect-go_out=. --connect-go_opt=paths=source_relative greet.proto
gofmt -s -w .
