package keys

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"snowfence.example/snowfence"
)

// Execer runs a statement. *sql.DB, *sql.Tx and *sql.Conn are execers.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Insert mints an id for a column, runs query with the id before its other arguments, and
// returns the id. It fails as [Rules.Fill] does, or with the database's error. With that it
// returns the id as well: when the outcome is unknown, the caller can look for that row.
func (r *Rules) Insert(ctx context.Context, db Execer, name, query string, args ...any) (snowfence.ID, error) {
	ids, err := r.InsertAll(ctx, db, name, query, [][]any{args})
	if len(ids) == 0 {
		return 0, err
	}
	return ids[0], err
}

// InsertAll is [Rules.Insert] for many rows. It mints their ids together, and runs query once
// for each row. It returns an id for each row that it sent, in their order.
//
// It ends at the first row that fails. The last id that it returns is that row's. Those before
// it are inserted: pass a *sql.Tx to have all rows or none. To send many rows in one statement,
// take their ids from [Rules.Fill] instead.
func (r *Rules) InsertAll(ctx context.Context, db Execer, name, query string, rows [][]any) ([]snowfence.ID, error) {
	ids := make([]snowfence.ID, len(rows))
	if err := r.Fill(ctx, name, ids); err != nil {
		return nil, err
	}
	for i, row := range rows {
		if _, err := db.ExecContext(ctx, query, slices.Concat([]any{ids[i]}, row)...); err != nil {
			return ids[:i+1], fmt.Errorf("insert %s %d: %w", name, ids[i], err)
		}
	}
	return ids, nil
}
