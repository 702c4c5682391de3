#!/usr/bin/env bash
# The other systems and processors: with FULL=1 all programs.
. .ci/lib.sh

ALL=$full scripts/cross.sh
