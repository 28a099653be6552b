//go:build servers

package sqltest

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/internal/testkit"
)

// TestSeriesGivesNoNumberTwiceAtAnyIsolation lets a transaction of each level read before others write.
// A verb in it fails, or sees their writes.
func TestSeriesGivesNoNumberTwiceAtAnyIsolation(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		for _, level := range []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
			t.Run(level.String(), func(t *testing.T) {
				for name, verb := range map[string]func(s *series.Series, tx *sql.Tx, one, two series.Reservation) error{
					"confirm": func(s *series.Series, tx *sql.Tx, _, two series.Reservation) error {
						return s.Confirm(t.Context(), tx, 2, two.Token)
					},
					"void": func(s *series.Series, tx *sql.Tx, one, _ series.Reservation) error {
						return s.Void(t.Context(), tx, 1, one.Token, "why")
					},
					"reserve": func(s *series.Series, tx *sql.Tx, _, _ series.Reservation) error {
						_, err := s.Reserve(t.Context(), tx, time.Minute)
						return err
					},
				} {
					s, ctx := b.of(t, func(c *series.Config) { c.Name = strings.ReplaceAll(level.String(), " ", "-") + "-" + name }), t.Context()
					one, two := reserve(t, s, b.db, 1), reserve(t, s, b.db, 2)
					early, none := b.begin(t, level), 0
					if err := early.QueryRowContext(ctx, "SELECT COUNT(*) FROM elsewhere").Scan(&none); err != nil {
						t.Fatal(err)
					}
					if err := errors.Join(s.Confirm(ctx, b.db, 1, one.Token), s.Void(ctx, b.db, 2, two.Token, "why")); err != nil {
						t.Fatal(err)
					}
					reserve(t, s, b.db, 3)
					err := verb(s, early, one, two)
					want := []string{"1 confirmed", "2 void: why", "3 reserved"}
					switch {
					case b.scheme == "postgres" && level >= sql.LevelRepeatableRead:
						if err == nil {
							t.Errorf("%s: does not see the others", name)
						}
					case name == "reserve":
						want = append(want, "4 reserved")
						if err := errors.Join(err, early.Commit()); err != nil {
							t.Error(err)
						}
					default:
						wantEnded(t, err, "never changes")
					}
					_ = early.Rollback()
					wantStates(t, s, b.db, want...)
				}
			})
		}
	})
}

func TestSeriesLosesNothingByALostReply(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s, ctx := b.of(t), t.Context()
		network := testkit.NewProxy(t, b.server.Addr())
		db := b.connect(t, login{address: network.Addr()})
		var r series.Reservation
		for _, verb := range []func() error{
			func() (err error) { r, err = s.Reserve(ctx, db, time.Minute); return err },
			func() error { return s.Confirm(ctx, db, r.Number, r.Token) },
			func() (err error) { r, err = s.Reserve(ctx, db, time.Minute); return err },
			func() error { return s.Void(ctx, db, r.Number, r.Token, "why") },
		} {
			if err := db.PingContext(ctx); err != nil {
				t.Fatal(err)
			}
			lost := network.LoseReplyTo(commits)
			if err := verb(); err != nil {
				t.Error(err)
			}
			select {
			case <-lost:
			default:
				t.Error("no reply was lost")
			}
		}
		wantStates(t, s, b.db, "1 confirmed", "2 void: why")
	})
}

func TestSeriesOffersANumberWhoseCommitIsUnknown(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s, ctx := b.of(t), t.Context()
		network := testkit.NewProxy(t, b.server.Addr())
		db := b.connect(t, login{address: network.Addr()})
		if err := db.PingContext(ctx); err != nil {
			t.Fatal(err)
		}
		network.SetTarget(fmt.Sprintf("127.0.0.1:%d", testkit.FreePort(t))) // where nothing listens
		lost := network.LoseReplyTo(commits)
		r, err := s.Reserve(ctx, db, time.Minute)
		if !errors.Is(err, series.ErrUnknown) || r != (series.Reservation{}) {
			t.Fatalf("reserved %v, %v, want %v", r, err, series.ErrUnknown)
		}
		<-lost
		wantStates(t, s, b.db, "1 reserved")
		b.expire(t, 1)
		wantStates(t, s, b.db, "1 offered")
		reserve(t, s, b.db, 1)
	})
}

// TestSeriesWithoutATransactionGivesNoNumberTwice works without a transaction, so locks don't last.
func TestSeriesWithoutATransactionGivesNoNumberTwice(t *testing.T) {
	onSeries(t, func(t *testing.T, b seriesBed) {
		s, tx := b.of(t), b.begin(t, sql.LevelReadCommitted)
		for n := range int64(100) { // half of the numbers reserved below
			reserve(t, s, tx, n+1)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		do(t, b.db, "UPDATE snowfence_series_number SET expires_at = 1 WHERE tenant = '"+b.tenant+"'")
		var mu sync.Mutex
		var calling sync.WaitGroup
		given := make(map[int64]int)
		for range 4 {
			calling.Go(func() {
				connection, err := b.db.Conn(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = connection.Close() }()
				for range 50 {
					if r, err := s.Reserve(t.Context(), connection, time.Minute); err == nil {
						mu.Lock()
						given[r.Number]++
						mu.Unlock()
					}
				}
			})
		}
		calling.Wait()
		for n, times := range given {
			if times > 1 {
				t.Errorf("number %d was given %d times", n, times)
			}
		}
	})
}
