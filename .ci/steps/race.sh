#!/usr/bin/env bash
# All packages with the race detector, package gale on the block engine.
. .ci/lib.sh

# without_clients lists the packages except those that run other programs or read texts.
without_clients() { go list ./... | grep -vE '/(tests/clients|tests/docs|tests/english|examples.*)$'; }

# shellcheck disable=SC2046
GALE_ENGINE=block go_test race -race -vet=off $(without_clients)
