#!/usr/bin/env bash
# The proofs of lost wake-ups: each delays an operation of the checkout, and must reach it and
# pass.
. .ci/lib.sh

need_shared schedfuzz/prove.sh
cp -R "$shared/schedfuzz" "$work/schedfuzz" && chmod -R u+w "$work/schedfuzz" || exit 1
sed -i -f .ci/schedfuzz.sed "$work/schedfuzz/proofs/root_proof_test.go.txt" || exit 1
# On net/http a sender announces itself in beginSend. The proxy's bodies are sent by the client.
sed -i -e 's|adaptor/outer.go#Flush#Store=|adaptor/outer_send.go#beginSend#Lock=|' \
	-e 's|reverse/own.go#write#SetWriteDeadline=|hostclient_h1_send.go#Write#Lock=|' "$work/schedfuzz/prove.sh" || exit 1
"$work/schedfuzz/prove.sh" "$repo" . "$work/schedfuzz/out" >"$work/schedfuzz.txt" 2>&1
cat "$work/schedfuzz.txt"
# Without its last line it has not run all. What is not fine must be known, and nothing but a
# defect: NO SITE, NOT REACHED, NOT RUN and CONTROL FAILS prove nothing.
logs schedfuzz | grep -q '^logs: ' || exit 1
rc=0
logs schedfuzz | grep -qE '^(NO|NOT|CONTROL) ' && rc=1
for name in $(logs schedfuzz | sed -n 's/^DEFECT //p'); do
	case " $CI_KNOWN " in
	*" $name "*) echo "fails, as known: $name" ;;
	*) rc=1 ;;
	esac
done
echo "$(logs schedfuzz | grep -c '^fine') proofs are fine, $(logs schedfuzz | grep -c '^DEFECT') are not"
exit $rc
