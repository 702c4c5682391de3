#!/usr/bin/env bash
# The other of the two newest Go releases, if it is there or can be had: all is
# compiled. The library's own tests run on the event engine, since that one relies on more
# of the runtime, and without those that look for rare orders, which the other steps have.
. .ci/lib.sh

other=go1.27.0
case $(go env GOVERSION) in go1.27*) other=go1.26.0 ;; esac
if ! GOTOOLCHAIN=$other timeout 120 go version >/dev/null 2>&1; then
	left_out "$other can't be downloaded here"
	exit 0
fi
GOTOOLCHAIN=$other go vet ./... || exit 1
if [ -n "$full" ]; then
	GOTOOLCHAIN=$other go_test newgo -vet=off "${gale_tests[@]}" ./internal/...
else
	GOTOOLCHAIN=$other GALE_ENGINE=event go_test newgo -vet=off "${gale_tests[@]}" ./internal/...
fi
