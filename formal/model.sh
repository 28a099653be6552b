#!/bin/sh
# model.sh: search the lease protocol's model with spin.
#
#	formal/model.sh           the short form, which "make model" runs
#	formal/model.sh soak      the larger configurations
#	formal/model.sh size NODES TICKS REQUESTS durable|lossy
#	                          one configuration
#	formal/model.sh trace N   the counterexample of mutant N: 1 to 12 (7a or 7b for 7), 10b
#	formal/model.sh goal N    an example of goal N: 1 to 8
#
# It prints a line for each search and fails when one does not end as it must:
# a search of the protocol completed, without an error; one of a mutant or a goal
# with the error that is looked for. Needs sh, spin and gcc.
#
# MINUTES (30) is the limit of each search of soak and size, MEMORY (6144) that of any
# in MiB.
set -eu
cd "$(dirname "$0")"
here=$PWD

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP

limit=${MEMORY:-6144}

# Mutants and goals have the nodes and requests of the first configuration. Two
# ticks are enough for each of them.
small="-DNODES=2 -DTICKS=2 -DREQUESTS=2"

# build NAME SWITCHES CFLAGS: make the checker in $tmp/NAME.
build() {
	mkdir "$tmp/$1"
	cp "$here"/*.pml "$tmp/$1"
	cd "$tmp/$1"
	# shellcheck disable=SC2086 # both are lists of words.
	if ! { spin -a $2 lease.pml && gcc -w -DSAFETY -DNOFAIR -DMEMLIM=$limit $3 -o pan pan.c; } >build.log 2>&1 || [ -s build.log ]; then
		cat build.log >&2 # a warning is an error, too
		return 1
	fi
}

# search NAME WANT SWITCHES CFLAGS FLAGS: build a checker, run it and print its line.
# WANT is: none, reach (none too, but it may be cut short by time or memory),
# duplicate (a tick stamped by two terms), or goal.
search() (
	begun=$(date +%s)
	build "$1" "$3" "$4" || { touch "$tmp/failed"; exit; }
	# shellcheck disable=SC2086 # a list of words.
	./pan -E $5 >pan.log 2>&1 || true
	found=$(sed -n 's/^pan:[0-9]*: assertion violated \(.*\) (at depth.*/\1/p' pan.log | head -n 1)
	errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.log)
	verdict=FAILED
	case $2 in
	none | reach)
		if [ "$errors" = 0 ] && ! grep -q -e 'not completed' -e 'too small' -e 'out of memory' -e 'memory limit' -e 'resource limit' pan.log; then
			verdict='complete, no error'
		elif [ "$2" = reach ] && [ "$errors" = 0 ] && grep -q 'not completed' pan.log && ! grep -q 'too small' pan.log; then
			verdict='cut short by the limit of time or memory, no error so far'
			touch "$tmp/cut"
		fi ;;
	duplicate)
		case $found in
		*who*) verdict='caught: two terms stamp one tick' ;;
		esac ;;
	goal)
		case $found in
		'' | *who* | *firm*) ;;
		*) verdict='found possible' ;;
		esac ;;
	esac
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
	depth=$(sed -n 's/.*depth reached \([0-9]*\),.*/\1/p' pan.log)
	printf '%-72s %10s states %6s deep %4s s  %s\n' "$1" "${states:-?}" "${depth:-?}" "$(($(date +%s) - begun))" "$verdict"
	if [ "$verdict" = FAILED ]; then
		touch "$tmp/failed"
		cat pan.log >&2
	fi
	cd "$tmp"
	rm -rf "${tmp:?}/$1"
)

# prove NODES TICKS REQUESTS STORE [WANT]: the true protocol. A node may have so many requests
# at a time and any number in its life; on a lossy store, so many in its life.
prove() {
	switches="-DNODES=$1 -DTICKS=$2 -DREQUESTS=$3"
	case $4 in
	durable) search "$1 nodes, $2 ticks, requests at a time $3, durable store" "${5-none}" "$switches" -O1 "-m3000000 $time" ;;
	lossy) search "$1 nodes, $2 ticks, requests in a life $3, lossy store" "${5-none}" "$switches -DLOSSY -DLIFE" -O1 "-m3000000 $time" ;;
	esac
}
time=''

# climb NODES TICKS REQUESTS STORE: with so many ticks, which must be completed, and
# with one more each time until a search is cut short.
climb() {
	prove "$1" "$2" "$3" "$4"
	ticks=$2
	rm -f "$tmp/cut"
	while [ ! -e "$tmp/cut" ] && [ ! -e "$tmp/failed" ]; do
		ticks=$((ticks + 1))
		prove "$1" "$ticks" "$3" "$4" reach
	done
	echo "the largest that was completed: $((ticks - 1)) ticks"
}

# Those that there are.
mutants='1 2 3 4 5 6 7a 7b 8 9 10 10b'
limits='11 12'
goals='1 2 3 4 5 6 7 8'

# among N LIST: whether N is one of the list.
among() {
	for known in $2; do
		[ "$known" != "$1" ] || return 0
	done
	return 1
}

# The switches of a mutant and of a goal.
mutant() {
	case $1 in
	7a) echo "-DMUTANT=71 -DLIFE $small" ;;
	7b) echo "-DMUTANT=72 -DLIFE $small" ;;
	10b) echo "-DMUTANT=102 -DLIFE -DLOSSY $small" ;;
	9 | 10 | 11) echo "-DMUTANT=$1 -DLIFE -DLOSSY $small" ;;
	*) echo "-DMUTANT=$1 -DLIFE $small" ;;
	esac
}
goal() {
	case $1 in
	5 | 6) echo "-DGOAL=$1 -DLIFE -DLOSSY $small" ;;
	*) echo "-DGOAL=$1 -DLIFE $small" ;;
	esac
}

# What they are, from the comments of the model.
called() {
	case $1 in
	mutant) number=$(echo "$2" | sed 's/^7a$/71/; s/^7b$/72/; s/^10b$/102/') ;;
	*) number=$2 ;;
	esac
	sed -n "s:^#.*$(echo "$1" | tr a-z A-Z) == $number /\* \(.*\) \*/\$:\1:p" "$here/${1}s.pml" | head -n 1
}

mutants() {
	for n in $mutants; do
		search "mutant $n: $(called mutant "$n")" duplicate "$(mutant $n)" -O0 -m1000000
	done
	for n in $limits; do
		search "limit $n: $(called mutant "$n")" duplicate "$(mutant $n)" -O0 -m1000000
	done
}

goals() {
	for n in $goals; do
		search "goal $n: $(called goal "$n")" goal "$(goal $n)" -O0 -m1000000
	done
}

# usage WHAT: what is wrong, and the commands; it ends the program.
usage() {
	echo "model.sh: $1" >&2
	sed -n '2,/^set/s/^# \{0,1\}//p' "$here/model.sh" >&2
	exit 2
}

# trace SWITCHES: the events that lead to the error, one a line. This search is by
# breadth, so that none leads there with fewer steps.
trace() {
	build trace "$1" -DBFS
	./pan -E >pan.log 2>&1 || true
	[ -f lease.pml.trail ] || { echo "nothing was found" >&2; exit 1; }
	# shellcheck disable=SC2086 # a list of words.
	spin -T -t $1 lease.pml | sed -n 's/^ *\(node\|store\): /\1: /p; s/^ *\(node [0-9]*: \)/\1/p; s/^spin:.*\(assertion violated\)/\1/p' | uniq
}

case ${1-} in
'')
	# Two at a time.
	{ mutants; goals; } &
	prove 2 6 2 durable
	prove 3 4 1 durable
	prove 3 2 2 durable
	prove 3 4 1 lossy
	prove 2 3 2 lossy
	search '2 nodes, 3 ticks, requests in a life 2, durable store, untidied' none '-DTICKS=3 -DLIFE -DUNTIDY' -O1 -m1000000
	search '2 nodes, 2 ticks, requests in a life 2, lossy store, untidied' none '-DTICKS=2 -DLIFE -DLOSSY -DUNTIDY' -O1 -m1000000
	wait ;;
soak)
	# Those that may be cut short report it.
	time=-Q${MINUTES:-30}
	prove 2 4 2 lossy
	prove 2 6 2 lossy reach
	prove 3 4 2 durable reach
	climb 2 3 3 durable
	climb 2 2 3 lossy ;;
size)
	time=-Q${MINUTES:-30}
	prove "${2:?how many nodes?}" "${3:?how many ticks?}" "${4:?how many requests?}" "${5:?durable or lossy?}" reach ;;
trace)
	among "${2-}" "$mutants $limits" || usage "there is no mutant '${2-}'"
	trace "$(mutant "$2")" ;;
goal)
	among "${2-}" "$goals" || usage "there is no goal '${2-}'"
	trace "$(goal "$2")" ;;
*)
	usage "there is no command '$1'" ;;
esac
[ ! -e "$tmp/failed" ]
