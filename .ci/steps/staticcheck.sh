#!/usr/bin/env bash
# The module, and that of fasthttp's name. Other modules are checked by their steps.
. .ci/lib.sh

staticcheck ./... && (cd compat/fasthttp && staticcheck ./...)
