#!/usr/bin/env bash
# Vet for two other systems, of which one has processors of 32 bits. With FULL=1 for all
# systems, and all programs.
. .ci/lib.sh

if [ -n "$full" ]; then
	ALL=1 scripts/cross.sh
else
	TARGETS="linux/386 darwin/arm64" scripts/cross.sh
fi
