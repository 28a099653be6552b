//go:build servers

package main

import (
	"context"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

// clientsOfRedis runs programs that others wrote for Redis against the daemon.
type clientsOfRedis struct {
	t          *testing.T
	host, port string
}

// run returns a program's output, in lines.
func (c clientsOfRedis) run(stdin, name string, arguments ...string) []string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, name, arguments...)
	command.Env = append(command.Environ(), "TERM=dumb") // a terminal without keys to move the cursor
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s", name, arguments, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// cli runs redis-cli.
func (c clientsOfRedis) cli(stdin string, arguments ...string) []string {
	c.t.Helper()
	return c.run(stdin, "redis-cli", append([]string{"-h", c.host, "-p", c.port}, arguments...)...)
}

// wantIDs checks that lines are n ids, and that each is greater than the one before.
func (c clientsOfRedis) wantIDs(lines []string, n int) {
	c.t.Helper()
	if len(lines) != n {
		c.t.Fatalf("%d lines instead of %d: %q", len(lines), n, lines)
	}
	var last snowfence.ID
	for _, line := range lines {
		id, err := snowfence.Parse(line)
		if err != nil || id <= last {
			c.t.Fatalf("%q after %d: %v", line, last, err)
		}
		last = id
	}
}

// contains checks that the lines have a text.
func (c clientsOfRedis) contains(lines []string, text string) {
	c.t.Helper()
	if all := strings.Join(lines, "\n"); !strings.Contains(all, text) {
		c.t.Errorf("%q is not in:\n%s", text, all)
	}
}

func TestProgramsForRedisGetIDs(t *testing.T) {
	t.Parallel()
	d := readyDaemon(t, "--store", "mem://")
	host, port, err := net.SplitHostPort(d.Address("redis"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(clientsOfRedis){
		"redis-cli": func(c clientsOfRedis) {
			c.wantIDs(c.cli("", "INCR", "default"), 1)
			c.wantIDs(c.cli("", "-3", "ID.NEXT", "default", "COUNT", "10"), 10)
			c.wantIDs(c.cli("INCR default\nid.next default count 2\nINCR default\n"), 4)
			c.contains(c.cli("", "GET", "default"), "ERR GET never mints")
			c.contains(c.cli("", "INCR", "none"), "ERR unknown-generator")
			c.contains(c.cli("", "-3", "ID.DECODE", "1541815603606036480", "LAYOUT", "twitter"), "time 2022-06-28T16:07:40.105Z")
		},
		// On a terminal it reads COMMAND DOCS first.
		"redis-cli on a terminal": func(c clientsOfRedis) {
			lines := c.run("INCR default\nhelp id.next\nquit\n", "script", "-qec", "redis-cli -h "+c.host+" -p "+c.port, "/dev/null")
			c.contains(lines, "(integer) ")
			c.contains(lines, "key [COUNT n] [RANGES]")
			c.contains(lines, "Mints ids, as bulk strings or as ranges.")
		},
		"redis-benchmark": func(c clientsOfRedis) {
			for _, pipeline := range []string{"1", "64"} {
				lines := c.run("", "redis-benchmark", "-h", c.host, "-p", c.port, "-c", "10", "-n", "20000", "-q", "-P", pipeline, "INCR", "default")
				c.contains(lines, "requests per second")
				if strings.Contains(strings.Join(lines, "\n"), "WARN") {
					c.t.Errorf("it warns: %q", lines)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(clientsOfRedis{t, host, port})
		})
	}
}
