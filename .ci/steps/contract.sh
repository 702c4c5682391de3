#!/usr/bin/env bash
# The conformance corpus on each engine. With FULL=1 also in fragments, and with the cases that
# may destroy a server, each on a fresh one.
. .ci/lib.sh
need_shared

server_pid=
stop_server() {
	[ -n "$server_pid" ] || return 0
	kill "$server_pid" 2>/dev/null
	wait "$server_pid" 2>/dev/null
	server_pid=
}

# free_port FROM: prints a port on loopback, of the 6000 from FROM on, that nothing
# listens on.
free_port() {
	local port
	while port=$(($1 + RANDOM % 6000)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

# wait_port PORT: waits until something listens, at most 10 s.
wait_port() {
	for _ in $(seq 100); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
		sleep 0.1
	done
	return 1
}

# run_contract ENGINE FLAGS...: a fresh server, one run of the corpus.
run_contract() {
	local engine=$1 port=20000 rc
	shift
	[ "$engine" = block ] || port=26000 # both may run at a time
	port=$(free_port "$port")
	"$work/contract" -addr "127.0.0.1:$port" -dir "$work/www" -engine "$engine" >"$work/contract-$engine.log" 2>&1 &
	server_pid=$!
	if ! wait_port "$port"; then
		echo "the contract server doesn't listen:"
		tail -n 20 "$work/contract-$engine.log"
		stop_server
		return 1
	fi
	echo "== h1run, engine $engine $*"
	"$work/h1run" -cases "$shared/conformance/h1cases.json" -addr "127.0.0.1:$port" -j 8 "$@" >"$work/h1run-$engine.txt" 2>&1
	rc=$?
	# INFO is what servers may choose; nothing that fails there fails the run.
	grep -E '^FAIL|^ +->|^INV|server not alive' "$work/h1run-$engine.txt" | sed 's/^FAIL INFO/differs, INFO/'
	sed -n '/^---- totals/,$p' "$work/h1run-$engine.txt"
	if [ $rc != 0 ]; then
		tail -n 20 "$work/contract-$engine.log"
	fi
	stop_server
	return $rc
}

run_contracts() {
	local rc=0
	run_contract "$1" || rc=1
	[ -n "$full" ] || return $rc
	run_contract "$1" -frag 1 || rc=1
	run_contract "$1" -destructive || rc=1
	return $rc
}

rc=0 pids=()
go build -o "$work/contract" ./tests/contract || exit 1
(cd "$shared/conformance/h1run" && GOWORK=off go build -o "$work/h1run" .) || exit 1
bash "$shared/conformance/mkwww.sh" "$work/www" || exit 1
# The engines at the same time: most of it is waiting.
for engine in $engines; do
	(
		trap stop_server EXIT
		run_contracts "$engine"
	) >"$work/contract-$engine.txt" 2>&1 &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || rc=1
done
for engine in $engines; do
	cat "$work/contract-$engine.txt"
done
exit $rc
