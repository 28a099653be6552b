//go:build servers

package sqltest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/flickr"
	"snowfence.example/snowfence/internal/testkit"
)

// ticketServers starts n ticket servers. They leave flushing to the kernel, which outlives them.
func ticketServers(t *testing.T, n int) (servers []*testkit.Server) {
	t.Helper()
	for i := range n {
		s := testkit.MariaDB(t, "--auto-increment-increment="+strconv.Itoa(n), "--auto-increment-offset="+strconv.Itoa(i+1),
			"--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0")
		must(t, mariaDB(t, homeOf(s), nil, nil), flickr.DDL())
		servers = append(servers, s)
	}
	return servers
}

// sharedTicketServers are databases of one server. Each connection sets the increment and the offset.
func sharedTicketServers(t *testing.T, n int) (group []flickr.Server) {
	t.Helper()
	for i := range n {
		db := mariaDB(t, sharedHome(t, "MariaDB"), nil, map[string]string{
			"auto_increment_increment": strconv.Itoa(n), "auto_increment_offset": strconv.Itoa(i + 1),
		})
		must(t, db, flickr.DDL())
		group = append(group, flickr.Server{Name: string(rune('a' + i)), DB: db})
	}
	return group
}

// pools opens a pool of each server, as a process of its own does.
func pools(t *testing.T, servers []*testkit.Server) (group []flickr.Server) {
	t.Helper()
	for i, s := range servers {
		group = append(group, flickr.Server{Name: string(rune('a' + i)), DB: mariaDB(t, homeOf(s), nil, nil)})
	}
	return group
}

// ahead is the system's clock, moved ahead.
type ahead struct {
	snowfence.Clock
	by atomic.Int64
}

func (a *ahead) Monotonic() time.Duration { return a.Clock.Monotonic() + time.Duration(a.by.Load()) }

// crowd draws tickets, half of it as Flickr's own clients do.
type crowd struct {
	timeout time.Duration
	clock   *ahead
	draws   []draw

	mu  sync.Mutex
	all []counter.Range
}

// skip is for how long a server is skipped: until a test moves the clock ahead.
const skip = time.Hour

// clients is how many there are of each side.
const clients = 4

// newCrowd opens the clients.
func newCrowd(t *testing.T, servers []*testkit.Server, timeout time.Duration) *crowd {
	t.Helper()
	c := &crowd{timeout: timeout, clock: &ahead{Clock: snowfence.SystemClock()}}
	group := pools(t, servers)
	for i := range clients {
		source, err := flickr.Open(t.Context(), flickr.Config{Servers: pools(t, servers), Timeout: timeout, Skip: skip, Clock: c.clock})
		if err != nil {
			t.Fatal(err)
		}
		ours := func(ctx context.Context) (counter.Range, error) { return source.Reserve(ctx, few(1)) }
		next, down := i, make([]time.Time, len(group))
		theirs := func(ctx context.Context) (r counter.Range, err error) {
			for range 5 * len(group) { // round robin; one that fails is skipped
				next = (next + 1) % len(group)
				if time.Now().Before(down[next]) {
					continue
				}
				if r, err = ticket(ctx, group[next].DB, timeout); err == nil {
					return r, nil
				}
				if !strings.Contains(err.Error(), "Deadlock") {
					down[next] = time.Now().Add(time.Second)
				}
			}
			return r, err
		}
		c.draws = append(c.draws, ours, theirs)
	}
	return c
}

// ticket draws as Flickr's clients do: both statements on one connection.
func ticket(ctx context.Context, db *sql.DB, timeout time.Duration) (r counter.Range, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	connection, err := db.Conn(ctx)
	if err != nil {
		return r, err
	}
	defer connection.Close() //nolint:errcheck // it goes back to its pool
	if _, err := connection.ExecContext(ctx, "REPLACE INTO Tickets64 (stub) VALUES ('a')"); err != nil {
		return r, err
	}
	r = counter.Range{Increment: 1, Count: 1}
	return r, connection.QueryRowContext(ctx, "SELECT LAST_INSERT_ID()").Scan(&r.First)
}

// seen is what a round showed of our calls.
type seen struct {
	longest time.Duration
	stalled int    // how many took half of the timeout, or longer
	classes string // from which servers the tickets came, by their residues
}

// round lets everybody draw n tickets.
func (c *crowd) round(t *testing.T, n, servers int) (s seen) {
	t.Helper()
	clock := snowfence.SystemClock()
	var classes []int64
	var wait sync.WaitGroup
	for i, reserve := range c.draws {
		wait.Go(func() {
			for range n {
				begun := clock.Monotonic()
				r, err := reserve(t.Context())
				took := clock.Monotonic() - begun
				if err != nil {
					t.Error(err)
					return
				}
				c.mu.Lock()
				if c.all = append(c.all, r); i%2 == 0 {
					s.longest = max(s.longest, took)
					if took >= c.timeout/2 {
						s.stalled++
					}
					if class := r.First % int64(servers); !slices.Contains(classes, class) {
						classes = append(classes, class)
					}
				}
				enough := s.stalled > 2*clients
				c.mu.Unlock()
				if enough {
					return
				}
			}
		})
	}
	wait.Wait()
	slices.Sort(classes)
	s.classes = fmt.Sprint(classes)
	return s
}

// TestTicketServerThatDiesIsSkippedAndTakenBack kills a server, whose calls fail at once, and
// pauses another one, whose calls hang until the timeout: once for each client.
func TestTicketServerThatDiesIsSkippedAndTakenBack(t *testing.T) {
	const timeout, slack = 2 * time.Second, time.Second
	servers := ticketServers(t, 3)
	c := newCrowd(t, servers, timeout)
	expect := func(what, classes string, stalled int) {
		t.Helper()
		s := c.round(t, 60, 3)
		if s.classes != classes {
			t.Errorf("%s: tickets of the classes %s, want %s", what, s.classes, classes)
		}
		if s.longest > timeout+slack || s.stalled > stalled {
			t.Errorf("%s: %d calls stalled, the longest for %s; want %d at most, and none longer than the timeout of %s", what, s.stalled, s.longest, stalled, timeout)
		}
		t.Logf("%s: %d of %d calls stalled; the longest took %s", what, s.stalled, 60*clients, s.longest.Round(time.Millisecond))
	}
	expect("all are there", "[0 1 2]", 0)
	killed := make(chan struct{})
	go func() { // while they draw
		defer close(killed)
		servers[1].Kill()
	}()
	c.round(t, 60, 3)
	<-killed
	expect("one is dead", "[0 1]", 0)
	servers[1].Start()
	expect("it was brought back, and is skipped still", "[0 1]", 0)
	c.clock.by.Add(int64(skip))
	expect("it is taken back", "[0 1 2]", 0)
	servers[2].Pause()
	expect("another one hangs", "[1 2]", clients)
	servers[2].Resume()
	c.clock.by.Add(int64(skip))
	expect("it is taken back, too", "[0 1 2]", 0)
	numbers, err := apart(c.all)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d tickets, none twice", numbers)
}

func TestTicketServersMayBeTwoAndOneMayBeAwayAtTheStart(t *testing.T) {
	servers := ticketServers(t, 2)
	group := pools(t, servers)
	servers[0].Kill()
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
			if all = append(all, r); !slices.Contains(classes, r.First%2) {
				classes = append(classes, r.First%2)
			}
		}
		slices.Sort(classes)
		if _, err := apart(all); err != nil || !slices.Equal(classes, want) {
			t.Errorf("classes %v, want %v; %v", classes, want, err)
		}
	}
	draw(0)
	servers[0].Start()
	draw(0, 1)
	servers[0].Kill()
	servers[1].Kill()
	if _, err := source.Reserve(t.Context(), few(1)); err == nil {
		t.Error("a ticket without a server")
	}
	if _, err := flickr.Open(t.Context(), flickr.Config{Servers: group}); err == nil {
		t.Error("opened without a server")
	}
	servers[0].Start()
	draw(1) // also those that are skipped are asked when there is no other
}

// TestTicketServerThatFailsIsLoggedOnceUntilItIsBack takes the table of the only server away, twice.
// It is asked each time, since there is no other.
func TestTicketServerThatFailsIsLoggedOnceUntilItIsBack(t *testing.T) {
	group, log := sharedTicketServers(t, 1), new(bytes.Buffer)
	source, err := flickr.Open(t.Context(), flickr.Config{Servers: group, Skip: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		must(t, group[0].DB, "RENAME TABLE Tickets64 TO away")
		for range 20 {
			if r, err := source.Reserve(t.Context(), few(1)); err == nil {
				t.Fatalf("%+v without a table", r)
			}
		}
		must(t, group[0].DB, "RENAME TABLE away TO Tickets64")
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
	s := sharedHome(t, "MariaDB")
	must(t, mariaDB(t, s, nil, nil), flickr.DDL())
	with := func(increment, offset string) flickr.Server {
		return flickr.Server{DB: mariaDB(t, s, nil, map[string]string{"auto_increment_increment": increment, "auto_increment_offset": offset})}
	}
	statements := flickr.Server{DB: mariaDB(t, s, nil, map[string]string{"binlog_format": "STATEMENT"})}
	manual := flickr.Server{DB: mariaDB(t, s, nil, map[string]string{"autocommit": "0", "auto_increment_increment": "2"})}
	for _, c := range []struct {
		why     string
		servers []flickr.Server
		want    string
	}{
		{"no server", nil, "servers is none: must be given"},
		{"no pool", []flickr.Server{{Name: "x"}}, "db of server x is nil"},
		{"equal offsets", []flickr.Server{with("2", "1"), with("2", "1")}, "auto_increment_offset of ticket server 2 is 1: must differ from that of server 1"},
		{"other increments", []flickr.Server{with("2", "1"), with("4", "2")}, "auto_increment_increment of ticket server 2 is 4: must be 2, as on server 1"},
		{"small increment", []flickr.Server{with("2", "1"), with("2", "2"), with("2", "1")}, "auto_increment_increment of ticket server 1 is 2: must be at least 3"},
		{"large offset", []flickr.Server{with("2", "3")}, "auto_increment_offset of ticket server 1 is 3: must be from 1 to 2"},
		{"replicas that run the statement", []flickr.Server{statements}, `binlog_format of ticket server 1 is "STATEMENT": must be ROW or MIXED`},
		{"no autocommit", []flickr.Server{manual}, "autocommit of ticket server 1 is 0: must be 1"},
	} {
		_, err := flickr.Open(t.Context(), flickr.Config{Servers: c.servers})
		config := new(counter.ConfigError)
		if !errors.As(err, &config) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
	if _, err := flickr.Open(t.Context(), flickr.Config{Servers: []flickr.Server{with("4", "1"), with("4", "3")}}); err != nil {
		t.Errorf("with room for more: %v", err)
	}
	late := with("2", "1")
	late.DB.SetMaxOpenConns(1)
	source, err := flickr.Open(t.Context(), flickr.Config{Servers: []flickr.Server{late}})
	if err != nil {
		t.Fatal(err)
	}
	must(t, late.DB, "SET binlog_format = STATEMENT")
	if r, err := source.Reserve(t.Context(), few(1)); err == nil || !strings.Contains(err.Error(), `binlog_format of ticket server 1 is "STATEMENT"`) {
		t.Errorf("whose log has statements later: %+v, %v", r, err)
	}
}

func TestTicketThatMayHaveBeenGivenBeforeIsRefusedWithItsServer(t *testing.T) {
	s := sharedHome(t, "MariaDB")
	admin := mariaDB(t, s, nil, nil)
	must(t, admin, flickr.DDL())
	open := func() *flickr.Source {
		t.Helper()
		db := mariaDB(t, s, nil, map[string]string{"auto_increment_increment": "2", "auto_increment_offset": "1"})
		source, err := flickr.Open(t.Context(), flickr.Config{Servers: []flickr.Server{{Name: "a", DB: db}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := source.Reserve(t.Context(), few(1)); err != nil {
				t.Fatal(err)
			}
		}
		return source
	}
	source := open()
	must(t, admin, "CREATE TRIGGER numbers BEFORE INSERT ON Tickets64 FOR EACH ROW SET NEW.id = 100000")
	for range 2 { // it stays refused
		if r, err := source.Reserve(t.Context(), few(1)); !errors.Is(err, flickr.ErrUnfit) {
			t.Errorf("of another class: %+v, %v", r, err)
		}
	}
	must(t, admin, "DROP TRIGGER numbers")
	source = open()
	must(t, admin, "TRUNCATE TABLE Tickets64")
	_, err := source.Reserve(t.Context(), few(1))
	if backwards := new(counter.BackwardsError); !errors.As(err, &backwards) || backwards.Next != 1 || backwards.Mark < 9 {
		t.Errorf("of an emptied table: %v", err)
	}
}

// TestTicketServerWhoseIncrementChangedIsRefused raises the increment for new connections only. Those
// that are open keep the old one, and their numbers could equal those of new processes.
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
		must(t, admins[1].DB, "REPLACE INTO Tickets64 (stub) VALUES ('a')")
	}
	for _, admin := range admins {
		must(t, admin.DB, "ALTER TABLE Tickets64 AUTO_INCREMENT = 1001") // above the greatest of all
		must(t, admin.DB, "SET GLOBAL auto_increment_increment = 3")
	}
	if got, err := old.Reserve(t.Context(), few(1)); !errors.Is(err, flickr.ErrUnfit) || !strings.Contains(err.Error(), "were 2 and 1 (for new connections 2 and 1), and are 2 and 1 (3 and 1)") {
		t.Errorf("on connections with the old increment: %+v, %v", got, err)
	}
	for _, source := range []*flickr.Source{open(), open()} {
		for range 40 {
			draw(source)
		}
	}
	if _, err := apart(all); err != nil {
		t.Error(err)
	}
}
