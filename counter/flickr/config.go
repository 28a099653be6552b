package flickr

import (
	"cmp"
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
)

// Server is one ticket server.
type Server struct {
	// Name is for people: errors and logs show it. Empty means its place, from 1 on.
	Name string

	// DB is a pool of the caller's. It is not closed.
	DB *sql.DB
}

// Config says which servers there are. Servers must be given.
type Config struct {
	// Servers are all ticket servers. None may be left out, also none that is away.
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
	refuse := func(field string, value any, limit string) (Config, error) {
		return c, &counter.ConfigError{Field: field, Value: fmt.Sprint(value), Limit: limit}
	}
	c.Timeout, c.Skip = cmp.Or(c.Timeout, 500*time.Millisecond), cmp.Or(c.Skip, 10*time.Second)
	if c.Clock == nil {
		c.Clock = snowfence.SystemClock()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(c.Servers) == 0:
		return refuse("servers", "none", "must be given")
	case c.Timeout < 0:
		return refuse("timeout", c.Timeout, "must not be negative")
	case c.Skip < 0:
		return refuse("skip", c.Skip, "must not be negative")
	}
	for i, s := range c.Servers {
		if s.DB == nil {
			return refuse(fmt.Sprintf("db of server %s", cmp.Or(s.Name, fmt.Sprint(i+1))), "nil", "must be given")
		}
	}
	return c, nil
}

// settings are those of a server that decide which numbers it gives.
type settings struct {
	increment, offset, autocommit int64
	allIncrement, allOffset       int64 // those of new connections
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
	refuse := func(field string, value int64, limit string) error {
		return &counter.ConfigError{Field: field + " of ticket server " + server, Value: fmt.Sprint(value), Limit: limit}
	}
	switch {
	case s.autocommit != 1:
		return refuse("autocommit", s.autocommit, "must be 1")
	case s.statements != 0:
		return &counter.ConfigError{
			Field: "binlog_format of ticket server " + server, Value: "STATEMENT",
			Limit: "must be ROW or MIXED, or a replica runs the statement, judges its own settings, and stops",
		}
	case s.increment < int64(n):
		return refuse("auto_increment_increment", s.increment, fmt.Sprintf("must be at least %d, the number of servers", n))
	case s.offset < 1 || s.offset > s.increment:
		return refuse("auto_increment_offset", s.offset, fmt.Sprintf("must be from 1 to %d, the increment", s.increment))
	}
	return nil
}

// apart refuses two servers that could give the same number.
func (s settings) apart(server string, other settings, otherServer string) error {
	switch {
	case s.increment != other.increment:
		return &counter.ConfigError{
			Field: "auto_increment_increment of ticket server " + server, Value: fmt.Sprint(s.increment),
			Limit: fmt.Sprintf("must be %d, as on server %s", other.increment, otherServer),
		}
	case s.offset == other.offset:
		return &counter.ConfigError{
			Field: "auto_increment_offset of ticket server " + server, Value: fmt.Sprint(s.offset),
			Limit: fmt.Sprintf("must differ from that of server %s", otherServer),
		}
	}
	return nil
}
