#!/usr/bin/env bash
# The programs that keep requests too long, and those that look alike: what the guard and
# galevet say about each.
. .ci/lib.sh

rc=0
(cd tests/lifetimes && go vet ./... && go_test lifetimes .) || rc=1
# The default guard of the race detector: the same programs again, as long as the first.
[ -z "$full" ] || (cd tests/lifetimes && go_test lifetimes-race -race -vet=off -skip=TestAnalyzer .) || rc=1
if [ -x "$shared/lifetimes/run.py" ] && command -v python3 >/dev/null; then
	(cd cmd/galevet && go build -o "$work/galevet" .) &&
		cp -R "$shared/lifetimes" "$work/lifetimes" && chmod -R u+w "$work/lifetimes" &&
		(cd "$work/lifetimes" && ./setup.sh "$repo" >/dev/null && ./run.py "$work/galevet" | tail -n 1 && go run ./guard -require -noplain | grep '^guarded') || rc=1
else
	left_out "no second corpus"
fi
exit $rc
