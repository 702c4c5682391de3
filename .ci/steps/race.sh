#!/usr/bin/env bash
# The tests of package gale with the race detector on the block engine, with FULL=1 those of
# all packages.
. .ci/lib.sh

# without_clients lists the packages except those that run other programs or read texts.
without_clients() { go list ./... | grep -vE '/(tests/clients|tests/docs|tests/english|examples.*)$'; }

if [ -n "$full" ]; then
	# shellcheck disable=SC2046
	GALE_ENGINE=block go_test race -race -vet=off $(without_clients)
else
	GALE_ENGINE=block go_test race -race -vet=off "${gale_tests[@]}"
fi
