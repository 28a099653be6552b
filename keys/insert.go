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
	id, err := r.Next(ctx, name)
	if err != nil {
		return 0, err
	}
	if _, err := db.ExecContext(ctx, query, slices.Concat([]any{id}, args)...); err != nil {
		return id, fmt.Errorf("insert %s %d: %w", name, id, err)
	}
	return id, nil
}
