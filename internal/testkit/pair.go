package testkit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Pair is a server, and another one that can take its place without the last acknowledged writes. A
// failover is [Pair.Part], the Primary's Kill, [Pair.Promote] and [Pair.Rejoin] in this order. In place
// of the last two, [Pair.Mend] calls it off. The methods are not safe for concurrent use.
type Pair struct {
	Primary, Standby *Server

	way followingWay
}

// followingWay is how a standby follows its primary.
type followingWay interface {
	part(ctx context.Context, p *Pair) (time.Time, error)
	mend()
	promote(ctx context.Context, s *Server) error
	rejoin(p *Pair) error
}

// PairNames are the engines that StartPair knows.
func PairNames() []string { return []string{"redis", "nats", "postgres-lossy"} }

// StartPair starts the servers of a lossy engine. Redis and PostgreSQL replicate
// asynchronously. The standby of NATS is a copy of its disk, taken while it stands still: it has the
// synced data when a machine crashes. The test of PostgreSQL brings the driver, "pgx".
func StartPair(t testing.TB, name string) (Engine, *Pair) {
	t.Helper()
	p := &Pair{}
	engine := Engine{Name: name, Lossy: true, url: func(address string) string { return name + "://" + address }}
	switch name {
	case "redis":
		p.Primary = redisFollowing(t, "")
		link := NewProxy(t, p.Primary.Addr())
		p.Standby, p.way = redisFollowing(t, link.Addr()), &replication{link, redisPosition, redisPromote, redisFollow}
	case "postgres-lossy":
		engine.url = func(address string) string { return sqlURL("postgres", address) }
		eager := []string{"wal_retrieve_retry_interval=100ms"}
		p.Primary = Postgres(t, eager...)
		link := NewProxy(t, p.Primary.Addr())
		p.Standby = postgres(t, eager, func(s *Server) error { return postgresCopy(s, link.Addr()) })
		p.way = &replication{link, postgresPosition, postgresPromote, postgresCopy}
	case "nats":
		p.Primary, p.Standby, p.way = NATS(t), NATS(t), diskCopy{}
		p.Standby.Kill()
	default:
		t.Fatalf("engine %q has no pair", name)
	}
	engine.Server = p.Primary
	return engine, p
}

// Part waits until the standby has all that the primary has acknowledged before since. From when
// it returns on, the standby gets nothing more.
func (p *Pair) Part(ctx context.Context) (since time.Time, err error) {
	if since, err = p.way.part(ctx, p); err != nil {
		err = fmt.Errorf("part the standby from its primary: %w", err)
	}
	return since, err
}

// Mend starts a primary that was killed again, with all that it has, and lets the standby follow.
func (p *Pair) Mend() error {
	p.way.mend()
	return p.Primary.TryStart()
}

// Promote makes the standby the Primary.
func (p *Pair) Promote(ctx context.Context) error {
	if err := p.way.promote(ctx, p.Standby); err != nil {
		return fmt.Errorf("promote the standby: %w", err)
	}
	p.Primary, p.Standby = p.Standby, p.Primary
	return nil
}

// Rejoin lets the old primary follow the new one. It never answers as a primary again.
func (p *Pair) Rejoin() error {
	if err := p.way.rejoin(p); err != nil {
		return fmt.Errorf("the old primary does not follow the new one: %w", err)
	}
	return nil
}

// replication is the way of servers that replicate.
type replication struct {
	link     *Proxy                                         // the standby's way to the primary
	position func(context.Context, *Server) (uint64, error) // in the log: of a primary its end, of a standby how far it is
	lead     func(context.Context, *Server) error           // a standby becomes a primary
	follow   func(s *Server, primary string) error          // a server that does not run becomes a standby
}

func (r *replication) part(ctx context.Context, p *Pair) (since time.Time, err error) {
	err = retry(ctx, nil, func(ctx context.Context) error {
		since = time.Now()
		end, err := r.position(ctx, p.Primary)
		if err != nil {
			return err
		}
		at, err := r.position(ctx, p.Standby)
		if err == nil && at < end {
			err = fmt.Errorf("the standby is at %d of %d", at, end)
		}
		return err
	})
	if err == nil {
		r.link.Cut()
	}
	return since, err
}

func (r *replication) mend() { r.link.Heal() }

func (r *replication) promote(ctx context.Context, s *Server) error { return r.lead(ctx, s) }

func (r *replication) rejoin(p *Pair) error {
	r.link.SetTarget(p.Primary.Addr())
	r.link.Heal()
	if err := r.follow(p.Standby, r.link.Addr()); err != nil {
		return err
	}
	return p.Standby.TryStart()
}

// redisFollowing starts a Redis server that is or is to be one of a pair: its primary stands in its
// configuration file, since its arguments never change.
func redisFollowing(t testing.TB, primary string) *Server {
	t.Helper()
	return redis(t, redisFollows, nil, func(s *Server) error { return redisFollow(s, primary) })
}

func redisFollow(s *Server, primary string) error {
	config := ""
	if primary != "" {
		config = "replicaof " + strings.Replace(primary, ":", " ", 1) + "\n"
	}
	return os.WriteFile(filepath.Join(s.Dir, redisConfig), []byte(config), 0o600)
}

func redisPromote(ctx context.Context, s *Server) error {
	_, err := RedisCall(ctx, s.Addr(), "REPLICAOF NO ONE")
	return errors.Join(err, redisFollow(s, ""))
}

func redisPosition(ctx context.Context, s *Server) (offset uint64, err error) {
	info, err := RedisCall(ctx, s.Addr(), "INFO replication")
	if err != nil {
		return 0, err
	}
	name := "master_repl_offset:"
	if strings.Contains(info, "role:slave") {
		name = "slave_repl_offset:"
	}
	if strings.Contains(info, "master_link_status:down") {
		return 0, errors.New("the replica is not connected")
	}
	_, rest, _ := strings.Cut(info, "\n"+name)
	_, err = fmt.Sscan(rest, &offset)
	return offset, err
}

func postgresPromote(ctx context.Context, s *Server) error {
	_, err := s.Run(ctx, "pg_ctl", "promote", "--wait", "--pgdata", filepath.Join(s.Dir, "data"))
	return err
}

func postgresPosition(ctx context.Context, s *Server) (at uint64, err error) {
	db, err := sql.Open("pgx", sqlURL("postgres", s.Addr())+"?sslmode=disable")
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	// A standby is where it has replayed to: it has received no less.
	err = db.QueryRowContext(ctx, `SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
		ELSE pg_current_wal_flush_lsn() END - '0/0')::bigint`).Scan(&at)
	return at, err
}

// diskCopy is the way of servers whose standby is a copy of their disk.
type diskCopy struct{}

// diskFolder is a NATS server's folder.
const diskFolder = "jetstream"

// part copies the primary's folder while nothing changes it.
func (diskCopy) part(_ context.Context, p *Pair) (time.Time, error) {
	to := filepath.Join(p.Standby.Dir, diskFolder)
	p.Primary.Pause()
	defer p.Primary.Resume()
	err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(filepath.Join(p.Primary.Dir, diskFolder))))
	return time.Now(), err
}

func (diskCopy) mend() {}

func (diskCopy) promote(_ context.Context, s *Server) error { return s.TryStart() }

func (diskCopy) rejoin(*Pair) error { return nil }
