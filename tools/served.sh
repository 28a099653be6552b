#!/bin/sh
# served.sh: a pattern of the tests in FOLDERs that need servers, for go test -run. They are in files with the
# tag servers, or run once for each engine.
#
#	tools/served.sh FOLDER...
set -eu
find "$@" -name '*_test.go' -exec grep -lE '^//go:build servers|EngineNames\(' {} + |
	xargs sed -n 's/^func \(Test[A-Za-z0-9_]*\)(t \*testing\.T).*/\1/p' | sort -u | paste -s -d '|' | sed 's/.*/^(&)$/'
