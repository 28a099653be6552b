#!/bin/sh
# fuzz.sh DURATION: run every fuzz target of the tree for that long, one after
# the other: the go command fuzzes one target at a time.
set -eu
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz PACKAGE TARGET DURATION
fuzz() {
	echo "$1 $2"
	go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" >"$log" 2>&1 && return
	# When the time is up in the middle of a call, the go command sometimes
	# reports its own deadline as a failure of the target. A real one names the
	# input that it wrote down.
	if grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input' "$log"; then
		return
	fi
	cat "$log" >&2
	return 1
}

for module in . daemon cmd/snowfence store/etcdstore store/zkstore store/redisstore store/natsstore store/kubernetesstore; do
	(
		cd "$module"
		for package in $(go list ./...); do
			for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
				fuzz "$package" "$target" "$1"
			done
		done
	)
done
