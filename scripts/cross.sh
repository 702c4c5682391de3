#!/usr/bin/env bash
# Compiles and vets the module for systems and processors other than this one.
#   scripts/cross.sh [DIR]      the module in DIR instead
# TARGETS names others than the usual ones. Programs are not linked, except gale, unless ALL
# is set.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cd "${1:-.}"
rc=0
for target in ${TARGETS:-linux/arm64 linux/386 darwin/arm64 windows/amd64 freebsd/amd64}; do
	export CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/}
	packages=(./...)
	if [ -z "${ALL:-}" ]; then
		mapfile -t packages < <(go list -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' ./...)
		[ ! -d cmd/gale ] || packages+=(./cmd/gale)
	fi
	# The tests and programs of 64-bit Linux are those that are vetted anyway.
	if go build "${packages[@]}" && { [ "$target" = linux/arm64 ] || go vet ./...; }; then
		echo "ok   $target"
	else
		echo "FAIL $target"
		rc=1
	fi
done
exit $rc
