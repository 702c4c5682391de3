#!/usr/bin/env bash
# Nothing of fasthttp's API may be missing.
. .ci/lib.sh

need_shared
"$shared/api/missing.sh" .
