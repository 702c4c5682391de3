#!/usr/bin/env bash
# Upgraded connections that are killed while their first write begins end, on each engine.
. .ci/lib.sh

need_shared landing/hang/run.sh
"$shared/landing/hang/run.sh" "$repo"
