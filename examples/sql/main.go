// Command sql writes orders with fenced ids by database/sql. The registers of the worker ids
// are in the same PostgreSQL database, so nothing else need run:
//
//	GOWORK=off go run ./sql -database postgres://me:secret@localhost/shop
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/keys"
	"snowfence.example/snowfence/store/sqlstore"
)

func main() {
	address := flag.String("database", "postgres://localhost/shop", "the PostgreSQL database to write to")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *address); err != nil {
		fmt.Fprintln(os.Stderr, "sql:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, address string) (err error) {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	// Durable declares that no failover loses a write. Without it the claim of a worker id takes longer.
	store, err := sqlstore.Open(ctx, sqlstore.Config{Dialect: sqlstore.PostgreSQL, DB: db, Durable: true})
	if err != nil {
		return err
	}
	holder, err := fence.Open(ctx, fence.Config{Store: store, Namespace: "shop"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, holder.Close(ctx)) }()
	rules, err := keys.New(map[string]keys.Source{"orders.id": holder})
	if err != nil {
		return err
	}

	if _, err := db.ExecContext(ctx, createTable); err != nil {
		return err
	}
	id, err := rules.Insert(ctx, db, "orders.id", insertOrder, "Ada")
	if err != nil {
		return err
	}
	ids, err := placeOrders(ctx, db, rules, insertOrder, [][]any{{"Grace"}, {"Barbara"}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "inserted", id, ids)
	return err
}

const (
	createTable = "CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, customer TEXT NOT NULL)"
	insertOrder = "INSERT INTO orders (id, customer) VALUES ($1, $2)"
)

// placeOrders inserts orders in one transaction. Each row has the arguments of the query, without
// the id. Another try takes new ids. When the connection was lost at the commit, the orders may be
// there: look for one of the ids that came with the error first.
func placeOrders(ctx context.Context, db *sql.DB, rules *keys.Rules, query string, rows [][]any) (ids []snowfence.ID, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		id, err := rules.Insert(ctx, tx, "orders.id", query, row...)
		if err != nil {
			return nil, errors.Join(err, tx.Rollback())
		}
		ids = append(ids, id)
	}
	return ids, tx.Commit()
}
