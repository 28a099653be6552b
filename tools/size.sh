#!/bin/sh
# size.sh: lines of Go by package, tests left out, and the largest file of each.
set -eu

git ls-files '*.go' | grep -v '_test\.go$' | tr '\n' '\0' | xargs -0 wc -l | awk '
	$2 == "total" { next } # of one call of wc
	{
		package = $2
		if (!sub(/\/[^\/]*$/, "", package)) package = "."
		file = $2
		sub(/.*\//, "", file)
		lines[package] += $1
		total += $1
		if ($1 > most[package]) { most[package] = $1; largest[package] = file }
	}
	END {
		for (package in lines) printf "%6d  %-38s %5d %s\n", lines[package], package, most[package], largest[package] | "sort -rn"
		close("sort -rn")
		printf "%6d  in all\n", total
	}'
