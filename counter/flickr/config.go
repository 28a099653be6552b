package flickr

import (
	"cmp"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// Server is one ticket server.
type Server struct {
	// Name is for people: errors and logs show it. Empty means its place, from 1 on.
	Name string

	// DB is a pool of the caller's. It is not closed.
	DB *sql.DB
}

// Config names the servers. Servers must be given.
type Config struct {
	// Servers are all ticket servers. Each must be named, also a server that is away.
	Servers []Server

	// Timeout is how long one server may take. Zero means 500 ms.
	Timeout time.Duration

	// Skip is how long a server is skipped that failed. Zero means 10 s.
	Skip time.Duration

	// Logger gets a warning when a server begins to fail, and a line when it is back. Nil
	// means no log.
	Logger *slog.Logger

	// Clock is the source of time. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock
}

func (c Config) complete() (Config, error) {
	c.Timeout, c.Skip = cmp.Or(c.Timeout, 500*time.Millisecond), cmp.Or(c.Skip, 10*time.Second)
	c.Clock, c.Logger = cmp.Or(c.Clock, snowfence.SystemClock()), cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	err := cmp.Or(
		stored.RefuseIf(len(c.Servers) == 0, "servers", "none", "must be given"),
		stored.RefuseIf(c.Timeout < 0, "timeout", c.Timeout, "must not be negative"),
		stored.RefuseIf(c.Skip < 0, "skip", c.Skip, "must not be negative"),
	)
	c.Servers = slices.Clone(c.Servers)
	for i := range c.Servers {
		s := &c.Servers[i]
		s.Name = cmp.Or(s.Name, fmt.Sprint(i+1))
		err = cmp.Or(err, stored.RefuseIf(s.DB == nil, "db of server "+s.Name, "nil", "must be given"))
	}
	return c, err
}

// settings are the server's variables that decide its numbers.
type settings struct {
	increment, offset, autocommit int64
	allIncrement, allOffset       int64 // the ones of new connections
	statements                    int64 // 1 if the binary log has statements
}

// logged is 1 on a connection whose statements are logged as they are. A replica would judge itself by
// the settings in the REPLACE, and stop.
const logged = "(@@log_bin = 1 AND @@binlog_format = 'STATEMENT')"

// replace is Flickr's statement. It fails where a setting is no longer the one that was read, on this
// connection or for new ones: stub is NOT NULL.
func (s settings) replace() string {
	return fmt.Sprintf("REPLACE INTO Tickets64 (stub) VALUES (IF(@@auto_increment_increment = %d AND @@auto_increment_offset = %d"+
		" AND @@global.auto_increment_increment = %d AND @@global.auto_increment_offset = %d AND NOT "+logged+", 'a', NULL))",
		s.increment, s.offset, s.allIncrement, s.allOffset)
}

// check refuses settings that don't fit n servers.
func (s settings) check(server string, n int) error {
	of := " of ticket server " + server
	return cmp.Or(
		stored.RefuseIf(s.autocommit != 1, "autocommit"+of, s.autocommit, "must be 1"),
		stored.RefuseIf(s.statements != 0, "binlog_format"+of, "STATEMENT", "must be ROW or MIXED, or a replica runs the statement, judges its own settings, and stops"),
		stored.RefuseIf(s.increment < int64(n), "auto_increment_increment"+of, s.increment, fmt.Sprintf("must be at least %d, the number of servers", n)),
		stored.RefuseIf(s.offset < 1 || s.offset > s.increment, "auto_increment_offset"+of, s.offset, fmt.Sprintf("must be from 1 to %d, the increment", s.increment)),
	)
}

// apart refuses two servers that could give the same number.
func (s settings) apart(server string, other settings, otherServer string) error {
	of := " of ticket server " + server
	return cmp.Or(
		stored.RefuseIf(s.increment != other.increment, "auto_increment_increment"+of, s.increment, fmt.Sprintf("must be %d, as on server %s", other.increment, otherServer)),
		stored.RefuseIf(s.offset == other.offset, "auto_increment_offset"+of, s.offset, "must differ from that of server "+otherServer),
	)
}
