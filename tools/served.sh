#!/bin/sh
# served.sh: the tests in FOLDERs that need servers and their packages, as arguments of go test. They are in files with
# the tag servers, or run once for each engine.
#
#	tools/served.sh FOLDER...
set -eu
files=$(find "$@" -name '*_test.go' -exec grep -lE '^//go:build servers|EngineNames\(' {} + | sort)
# shellcheck disable=SC2086 # names of files without spaces
sed -n 's/^func \(Test[A-Za-z0-9_]*\)(t \*testing\.T).*/\1/p' $files | sort -u | paste -s -d '|' | sed 's/.*/-run=^(&)$/'
echo "$files" | sed 's|^|./|; s|/[^/]*$||' | sort -u
