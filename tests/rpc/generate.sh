#!/usr/bin/env bash
# Makes the Go code in conformancev1 from the files in proto, which are those of
# connectrpc.com/conformance v1.0.7. It needs protoc and the generators:
#
#   apt-get install protobuf-compiler libprotobuf-dev
#   go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
#   go install connectrpc.com/connect/v2/cmd/protoc-gen-connect-go@v2.0.2
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
module=github.com/galehttp/gale/tests/rpc
dir=connectrpc/conformance/v1
maps=()
for file in config service server_compat client_compat; do
	maps+=("M$dir/$file.proto=$module/conformancev1")
done
opts=$(IFS=,; echo "module=$module,${maps[*]}")
protoc -I proto --go_out=. --go_opt="$opts" --connect-go_out=. --connect-go_opt="$opts" \
	"$dir/config.proto" "$dir/service.proto" "$dir/server_compat.proto" "$dir/client_compat.proto"
gofmt -s -w conformancev1
