//go:build servers

package sqltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/counter/flickr"
	"snowfence.example/snowfence/internal/testkit"
)

// trio are three ticket servers that tests share: no URL sets an increment. They leave flushing to the kernel, which
// outlives them.
var trio = sync.OnceValue(func() (servers []*testkit.Server) {
	for i := range 3 {
		servers = append(servers, testkit.MariaDB(&lifetime, "--auto-increment-increment=3", fmt.Sprint("--auto-increment-offset=", i+1),
			"--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0"))
	}
	return servers
})

// ticketServers are databases of the first n of the trio.
func ticketServers(t *testing.T, n int) (servers []sqlServer) {
	t.Helper()
	for _, server := range trio()[:n] {
		s := mariaDB.within(t, server)
		do(t, s.admin(t), ticketsTable)
		servers = append(servers, s)
	}
	return servers
}

// pools opens a pool of each server, as a process of its own does.
func pools(t *testing.T, servers []sqlServer) (group []flickr.Server) {
	t.Helper()
	for i, s := range servers {
		group = append(group, flickr.Server{Name: string(rune('a' + i)), DB: s.admin(t)})
	}
	return group
}

// classed is a database with tickets whose sessions have an increment and an offset, and more settings.
func classed(t *testing.T, increment, offset int, more ...string) flickr.Server {
	t.Helper()
	s := mariaDB.within(t, mariaDB.hasty())
	do(t, s.admin(t), ticketsTable)
	set := append(more, fmt.Sprint("auto_increment_increment=", increment), fmt.Sprint("auto_increment_offset=", offset))
	return flickr.Server{Name: fmt.Sprint("of class ", offset), DB: s.connect(t, login{query: strings.Join(set, "&")})}
}

// ahead is the system's clock, moved ahead.
type ahead struct {
	snowfence.Clock
	by atomic.Int64
}

func (a *ahead) Monotonic() time.Duration { return a.Clock.Monotonic() + time.Duration(a.by.Load()) }

// crowd draws tickets.
type crowd struct {
	timeout time.Duration
	clock   *ahead
	draws   []draw

	mu  sync.Mutex
	all []counter.Range
}

// skip is for how long a server is skipped: until a test moves the clock ahead.
const skip = time.Hour

// clients is how many there are, who draw so many tickets in a round.
const clients, rounds = 4, 25

// newCrowd opens the clients.
func newCrowd(t *testing.T, servers []sqlServer, timeout time.Duration) *crowd {
	t.Helper()
	c := &crowd{timeout: timeout, clock: &ahead{Clock: snowfence.SystemClock()}}
	for range clients {
		source, err := flickr.Open(t.Context(), flickr.Config{Servers: pools(t, servers), Timeout: timeout, Skip: skip, Clock: c.clock})
		if err != nil {
			t.Fatal(err)
		}
		c.draws = append(c.draws, func(ctx context.Context) (counter.Range, error) { return source.Reserve(ctx, few(1)) })
	}
	return c
}

// round lets everybody draw some tickets, and returns how many calls took the timeout, how long they took at
// most, and from which of the three servers the tickets came, by their residues.
func (c *crowd) round(t *testing.T) (stalled int, longest time.Duration, classes []int64) {
	t.Helper()
	clock := snowfence.SystemClock()
	var wait sync.WaitGroup
	for _, reserve := range c.draws {
		wait.Go(func() {
			for range rounds {
				begun := clock.Monotonic()
				r, err := reserve(t.Context())
				took := clock.Monotonic() - begun
				if err != nil {
					t.Error(err)
					return
				}
				c.mu.Lock()
				c.all = append(c.all, r)
				longest = max(longest, took)
				if took >= c.timeout {
					stalled++
				}
				if class := r.First % 3; !slices.Contains(classes, class) {
					classes = append(classes, class)
				}
				enough := stalled > 2*clients
				c.mu.Unlock()
				if enough {
					return
				}
			}
		})
	}
	wait.Wait()
	slices.Sort(classes)
	return stalled, longest, classes
}

// TestTicketServerThatDiesIsSkippedAndTakenBack kills a server, whose calls fail at once, and
// pauses another one, whose calls hang until the timeout: once for each client.
func TestTicketServerThatDiesIsSkippedAndTakenBack(t *testing.T) {
	const timeout = 2 * time.Second
	servers := ticketServers(t, 3)
	c := newCrowd(t, servers, timeout)
	expect := func(what string, most int, want ...int64) {
		t.Helper()
		stalled, longest, classes := c.round(t)
		if !slices.Equal(classes, want) {
			t.Errorf("%s: tickets of the classes %d, want %d", what, classes, want)
		}
		if longest >= 2*timeout || stalled > most {
			t.Errorf("%s: %d calls stalled, the longest for %s; want %d at most, and none longer than the timeout of %s for a server that hangs", what, stalled, longest, most, timeout)
		}
	}
	expect("all are there", 0, 0, 1, 2)
	killed := make(chan struct{})
	go func() { // while they draw
		defer close(killed)
		servers[1].server.Kill()
	}()
	c.round(t)
	<-killed
	expect("one is dead", 0, 0, 1)
	servers[1].server.Start()
	expect("it was brought back, and is skipped still", 0, 0, 1)
	c.clock.by.Add(int64(skip))
	expect("it is taken back", 0, 0, 1, 2)
	servers[2].server.Pause()
	expect("another one hangs", clients, 1, 2)
	servers[2].server.Resume()
	c.clock.by.Add(int64(skip))
	expect("it is taken back, too", 0, 0, 1, 2)
	if err := apart(c.all); err != nil {
		t.Error(err)
	}
}

func TestTicketServersMayBeTwoAndOneMayBeAwayAtTheStart(t *testing.T) {
	servers := ticketServers(t, 2)
	group := pools(t, servers)
	servers[0].server.Kill()
	source, err := flickr.Open(t.Context(), flickr.Config{Servers: group, Skip: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	draw := func(want ...int64) {
		t.Helper()
		var classes []int64
		var all []counter.Range
		for range 10 {
			r, err := source.Reserve(t.Context(), few(1))
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, r); !slices.Contains(classes, r.First%3) {
				classes = append(classes, r.First%3)
			}
		}
		slices.Sort(classes)
		if err := apart(all); err != nil || !slices.Equal(classes, want) {
			t.Errorf("classes %v, want %v; %v", classes, want, err)
		}
	}
	draw(2)
	servers[0].server.Start()
	draw(1, 2)
	servers[0].server.Kill()
	servers[1].server.Kill()
	if _, err := source.Reserve(t.Context(), few(1)); err == nil {
		t.Error("a ticket without a server")
	}
	if _, err := flickr.Open(t.Context(), flickr.Config{Servers: group}); err == nil {
		t.Error("opened without a server")
	}
	servers[0].server.Start()
	draw(1) // skipped servers are asked, too, when there is no other
	servers[1].server.Start()
}

// TestTicketsOfServersComeInBatches fills batches, whose numbers are of all servers.
func TestTicketsOfServersComeInBatches(t *testing.T) {
	source, err := flickr.Open(t.Context(), flickr.Config{Timeout: testkit.Hang, Servers: []flickr.Server{classed(t, 2, 1), classed(t, 2, 2)}})
	if err != nil {
		t.Fatal(err)
	}
	tickets := counter.NewTickets(source, counter.Config{Name: "photos"})
	t.Cleanup(func() { _ = tickets.Close(context.Background()) })
	var all []snowfence.ID
	of := [2]int{}
	for range 5 {
		ids := make([]snowfence.ID, 8)
		if err := tickets.Fill(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			of[id%2]++
		}
		all = append(all, ids...)
	}
	if err := countertest.Distinct(all); err != nil {
		t.Error(err)
	}
	if of != [2]int{20, 20} {
		t.Errorf("%v numbers of the two servers: they take no turns", of)
	}
}

// TestTicketServerThatFailsIsLoggedOnceUntilItIsBack takes the table of the only server away, twice.
// It is asked each time, since there is no other.
func TestTicketServerThatFailsIsLoggedOnceUntilItIsBack(t *testing.T) {
	group, log := []flickr.Server{classed(t, 1, 1)}, new(bytes.Buffer)
	source, err := flickr.Open(t.Context(), flickr.Config{Servers: group, Skip: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		do(t, group[0].DB, "RENAME TABLE Tickets64 TO away")
		for range 20 {
			if r, err := source.Reserve(t.Context(), few(1)); err == nil {
				t.Fatalf("%+v without a table", r)
			}
		}
		do(t, group[0].DB, "RENAME TABLE away TO Tickets64")
		for range 20 {
			if _, err := source.Reserve(t.Context(), few(1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for line, times := range map[string]int{"ticket server fails": 2, "ticket server is back": 2} {
		if got := strings.Count(log.String(), line); got != times {
			t.Errorf("%q stands %d times in the log, want %d:\n%s", line, got, times, log)
		}
	}
}

func TestTicketServersThatCouldGiveOneNumberTwiceAreRefused(t *testing.T) {
	for _, c := range []struct {
		why     string
		servers []flickr.Server
		want    string
	}{
		{"no server", nil, "servers is none: must be given"},
		{"no pool", []flickr.Server{{Name: "x"}}, "db of server x is nil"},
		{"equal offsets", []flickr.Server{classed(t, 2, 1), classed(t, 2, 1)}, "must differ from that of server"},
		{"other increments", []flickr.Server{classed(t, 2, 1), classed(t, 4, 2)}, "auto_increment_increment of ticket server of class 2 is 4: must be 2, as on server of class 1"},
		{"small increment", []flickr.Server{classed(t, 2, 1), classed(t, 2, 2), classed(t, 2, 1)}, "auto_increment_increment of ticket server of class 1 is 2: must be at least 3"},
		{"large offset", []flickr.Server{classed(t, 2, 3)}, "auto_increment_offset of ticket server of class 3 is 3: must be from 1 to 2"},
		{"replicas that run the statement", []flickr.Server{classed(t, 1, 1, "binlog_format=STATEMENT")}, `binlog_format of ticket server of class 1 is "STATEMENT": must be ROW or MIXED`},
		{"no autocommit", []flickr.Server{classed(t, 2, 1, "autocommit=0")}, "autocommit of ticket server of class 1 is 0: must be 1"},
	} {
		_, err := flickr.Open(t.Context(), flickr.Config{Servers: c.servers})
		config := new(counter.ConfigError)
		if !errors.As(err, &config) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
	if _, err := flickr.Open(t.Context(), flickr.Config{Servers: []flickr.Server{classed(t, 4, 1), classed(t, 4, 3)}}); err != nil {
		t.Errorf("with room for more: %v", err)
	}
	late := classed(t, 2, 1)
	late.DB.SetMaxOpenConns(1)
	source, err := flickr.Open(t.Context(), flickr.Config{Servers: []flickr.Server{late}})
	if err != nil {
		t.Fatal(err)
	}
	do(t, late.DB, "SET binlog_format = STATEMENT")
	if r, err := source.Reserve(t.Context(), few(1)); err == nil || !strings.Contains(err.Error(), `binlog_format of ticket server of class 1 is "STATEMENT"`) {
		t.Errorf("whose log has statements later: %+v, %v", r, err)
	}
}

func TestTicketThatMayHaveBeenGivenBeforeIsRefusedWithItsServer(t *testing.T) {
	server := classed(t, 2, 1)
	source, err := flickr.Open(t.Context(), flickr.Config{Timeout: testkit.Hang, Servers: []flickr.Server{server}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Reserve(t.Context(), few(1)); err != nil {
		t.Fatal(err)
	}
	do(t, server.DB, "CREATE TRIGGER numbers BEFORE INSERT ON Tickets64 FOR EACH ROW SET NEW.id = 100000")
	for range 2 { // it stays refused
		if r, err := source.Reserve(t.Context(), few(1)); !errors.Is(err, flickr.ErrUnfit) {
			t.Errorf("of another class: %+v, %v", r, err)
		}
	}
}

// TestTicketServerWhoseIncrementChangedIsRefused raises the increment for new connections only. Open
// connections keep the old one, and their numbers could equal the numbers of new processes.
func TestTicketServerWhoseIncrementChangedIsRefused(t *testing.T) {
	servers := ticketServers(t, 2)
	open := func() *flickr.Source {
		t.Helper()
		source, err := flickr.Open(t.Context(), flickr.Config{Servers: pools(t, servers), Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return source
	}
	var all []counter.Range
	draw := func(source *flickr.Source) {
		t.Helper()
		got, err := source.Reserve(t.Context(), few(1))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got)
	}
	old, admins := open(), pools(t, servers)
	for range 10 {
		draw(old)
	}
	for range 50 { // the counts differ, as they always do
		do(t, admins[1].DB, "REPLACE INTO Tickets64 (stub) VALUES ('a')")
	}
	defer func() {
		for _, admin := range admins {
			do(t, admin.DB, "SET GLOBAL auto_increment_increment = 3")
		}
	}()
	for _, admin := range admins {
		do(t, admin.DB, "ALTER TABLE Tickets64 AUTO_INCREMENT = 1001") // above the greatest of all
		do(t, admin.DB, "SET GLOBAL auto_increment_increment = 4")
	}
	if got, err := old.Reserve(t.Context(), few(1)); !errors.Is(err, flickr.ErrUnfit) || !strings.Contains(err.Error(), "were 3 and 1 (for new connections 3 and 1), and are 3 and 1 (4 and 1)") {
		t.Errorf("on connections with the old increment: %+v, %v", got, err)
	}
	for _, source := range []*flickr.Source{open(), open()} {
		for range 40 {
			draw(source)
		}
	}
	if err := apart(all); err != nil {
		t.Error(err)
	}
}
