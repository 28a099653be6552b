#!/bin/sh
# size.sh: lines of Go by package: what ships, what is generated, what supports tests and
# measurements, tests, and how many lines of the tests stand outside of test functions.
set -eu

git ls-files '*.go' | tr '\n' '\0' | xargs -0 awk '
	FNR == 1 {
		package = FILENAME
		if (!sub(/\/[^\/]*$/, "", package)) package = "."
		test = FILENAME ~ /_test\.go$/
		column = "shipped"
		if (test) column = "tests"
		else if (package ~ /^(bench|examples|tools|internal\/(sim|testkit|servertest|disk\/modeldisk|mutants)|store\/(storetest|faultstore)|counter\/countertest|daemon\/(kind\/kindtest|internal\/(lineartest|sqltest|fronttest)))(\/|$)|\/testdata/) column = "support"
		else if ($0 ~ /^\/\/ Code generated .* DO NOT EDIT\.$/) column = "generated"
		inside = 0
		packages[package]
	}
	{ lines[column, package]++; lines[column]++ }
	test && /^func (Test|Fuzz|Benchmark|Example)/ { inside = 1 }
	test && !inside { lines["outside", package]++; lines["outside"]++ }
	test && /^}/ { inside = 0 }
	function row(name, suffix) {
		share = ""
		if (lines["tests" suffix]) share = sprintf("%3d %%", 100 * lines["outside" suffix] / lines["tests" suffix])
		return sprintf("%-36s %7d %9d %7d %7d %8s", name, lines["shipped" suffix], lines["generated" suffix], lines["support" suffix], lines["tests" suffix], share)
	}
	END {
		printf "%-36s %7s %9s %7s %7s %8s\n", "package", "shipped", "generated", "support", "tests", "outside"
		for (package in packages) print row(package, SUBSEP package) | "sort -k2,2nr -k4,4nr -k5,5nr"
		close("sort -k2,2nr -k4,4nr -k5,5nr")
		print row("in all", "")
	}'
