#!/usr/bin/env bash
# Runs galevet over Gale. It must find what cmd/galevet/accepted.txt lists, and nothing else.
#
#   scripts/galevet.sh [GALEVET]     the command, by default built from cmd/galevet
#
# A finding is a file and a message. Lines of files are left out, so that the list lasts when
# code moves. So is the place in brackets, one of several that lead to the same finding.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
accepted=cmd/galevet/accepted.txt
work=$(mktemp -d "${TMPDIR:-/tmp}/gale-galevet.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
galevet=${1:-$work/galevet}
[ -n "${1:-}" ] || (cd cmd/galevet && go build -o "$galevet" .) || exit 1

# The tests of package gale keep on purpose what galevet finds.
mapfile -t packages < <(go list ./... | grep -vE '/tests/(server|client|h2|files|message|harness)(/|$)')
"$galevet" "${packages[@]}" >"$work/out" 2>&1
rc=$?
# Exit status 1 is that of findings, so each line must be one.
finding='^[^ ]+\.go:[0-9]+:[0-9]+: '
if [ $rc -gt 1 ] || grep -vE "$finding|^# " "$work/out" || { [ $rc = 1 ] && [ ! -s "$work/out" ]; }; then
	echo "galevet has not run to its end (exit status $rc)"
	exit 1
fi
grep -E "$finding" "$work/out" | sed -E 's/ \([^ ()]+\.go:[0-9]+\)//; s/\.go(:[0-9]+)+/.go/g' | LC_ALL=C sort >"$work/found"
grep -vE '^(#|$)' "$accepted" | LC_ALL=C sort >"$work/accepted"
if ! diff "$work/accepted" "$work/found" >"$work/diff"; then
	grep -E "$finding" "$work/out"
	echo
	sed -n 's/^> /new: /p; s/^< /not found any more: /p' "$work/diff"
	echo "correct the code, or write the reason into $accepted"
	exit 1
fi
echo "galevet: $(wc -l <"$work/found") findings, all of them in $accepted"
