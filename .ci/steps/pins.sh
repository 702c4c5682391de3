#!/usr/bin/env bash
# The promises of no allocation hold without the race detector; here they run
# alone, and there must be some.
. .ci/lib.sh

packages=()
mapfile -t packages < <(git grep -lE '^func (Test|Example)[A-Za-z0-9_]*Alloc' -- '*_test.go' | xargs -n 1 dirname | sort -u |
	sed 's|^|./|; s|^\./\.$|.|' | grep -Ev '^\./(bench|lab|compat|cmd/galevet|tests/(differential|fiber|rpc|lifetimes|browser)|examples)(/|$)')
go_test pins -vet=off -run='Alloc' -skip='Fuzz' "${packages[@]}" || exit 1
logs pins | grep -E '^--- PASS' >/dev/null || { echo "no test pins allocations"; exit 1; }
