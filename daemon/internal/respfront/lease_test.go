package respfront

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/internal/fronttest"
)

// parts are the parts of an answer about a lease, by name.
func parts(t *testing.T, reply string) map[string]string {
	t.Helper()
	words := strings.Fields(strings.Trim(reply, "()"))
	if len(words)%2 != 0 {
		t.Fatalf("the reply is %s", reply)
	}
	all := map[string]string{}
	for i := 0; i < len(words); i += 2 {
		all[strings.Trim(words[i], `"`)] = strings.Trim(words[i+1], `":`)
	}
	return all
}

func TestLeaseIsClaimedExtendedAndGivenBack(t *testing.T) {
	f := newFixture(t, "")
	if err := f.service.Serve("late", fronttest.NewLender(t)); err != nil {
		t.Fatal(err)
	}
	l, now := f.dial(), time.Now().UnixMilli()
	claimed := parts(t, l.ask(fmt.Sprintf("LEASE.CLAIM late NOW %d HOST a PID 7 PROGRAM billing", now)))
	if claimed["time_shift"] != "22" || claimed["window_ms"] != "60000" || claimed["check"] == "" {
		t.Errorf("claimed %v", claimed)
	}
	extend := fmt.Sprintf("lease.extend late lease %s mark 00000000000000a1 now %d", claimed["lease"], now+20_000)
	extended := parts(t, l.ask(extend))
	before, _ := strconv.Atoi(claimed["until"])
	if until, _ := strconv.Atoi(extended["until"]); extended["mark"] != "00000000000000a1" || until <= before {
		t.Errorf("extended %v", extended)
	}
	if again := parts(t, l.ask(extend)); again["lease"] != extended["lease"] {
		t.Errorf("the retry has %v", again)
	}
	release := fmt.Sprintf("LEASE.RELEASE late LEASE %s MARK 00000000000000a2 NEXT %s", extended["lease"], extended["floor"])
	for range 2 {
		if reply := l.ask(release); reply != "+OK" {
			t.Errorf("the release: %s", reply)
		}
	}
	for command, want := range map[string]string{
		strings.Replace(extend, claimed["lease"], extended["lease"], 1): "-ERR lease-gone: ",
		"LEASE.CLAIM late NOW x":                      `-ERR invalid-lease: now is "x": must be`,
		"LEASE.CLAIM late NOW 1 NOW 2":                "-ERR syntax error",
		"LEASE.CLAIM late NOW 1 MARK 2":               "-ERR syntax error",
		"LEASE.CLAIM late NOW 1 HOST":                 "-ERR syntax error",
		"LEASE.CLAIM late":                            "-ERR wrong number of arguments",
		"LEASE.CLAIM numbers NOW 1":                   "-ERR not-lent: ",
		"LEASE.CLAIM late NOW 1":                      "-CLOCK clock-unsafe: ",
		"LEASE.RELEASE late LEASE AQ MARK 1 NEXT 1":   `-ERR invalid-lease: lease is "AQ"`,
		"LEASE.EXTEND late LEASE AQ MARK 1 NOW 1 PID": "-ERR",
	} {
		if reply := l.ask(command); !strings.HasPrefix(reply, want) {
			t.Errorf("%s: %s, want %s", command, reply, want)
		}
	}
}
