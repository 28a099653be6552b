#!/bin/sh
# fuzz.sh DURATION: run every fuzz target of the tree for that long, one after
# the other: the go command fuzzes one target at a time.
set -eu
cd "$(dirname "$0")/.."

for module in . cmd/snowfence; do
	(
		cd "$module"
		for package in $(go list ./...); do
			for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
				echo "$package $target"
				go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "$package"
			done
		done
	)
done
