package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// silent is a server that answers nothing.
type silent struct{}

func (silent) Connect(ctx context.Context) (driver.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silent) Driver() driver.Driver { return nil }

func TestOpenDoesNotWaitForASilentServerForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(silent{})
		defer func() { _ = db.Close() }()
		begun := time.Now()
		_, err := Open(t.Context(), Config{Dialect: PostgreSQL, DB: db})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != callLimit {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}
