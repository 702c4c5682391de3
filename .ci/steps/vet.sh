#!/usr/bin/env bash
# go vet for the modules that no other step checks.
. .ci/lib.sh

go vet ./... && (cd bench && go vet ./...) && (cd tests/differential && go vet ./...) && (cd tests/fiber && go vet ./...) && (cd compat/fasthttp && go vet ./...)
