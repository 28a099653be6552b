// Command ent writes orders with fenced ids by ent. The hook that gives the keys is in hook.go,
// the mixin of their column in the folder schema. The worker ids' registers are in a folder,
// which the processes of one host share:
//
//	GOWORK=off go generate ./ent
//	GOWORK=off go run ./ent -database postgres://me:secret@localhost/shop -ids /var/lib/shop
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	ent "snowfence.example/snowfence/examples/ent/generated"
	"snowfence.example/snowfence/examples/ent/generated/order"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/keys"
	"snowfence.example/snowfence/store/filestore"
)

//go:generate go tool ent generate --target generated ./schema

func main() {
	address := flag.String("database", "postgres://localhost/shop", "the PostgreSQL database to write to")
	folder := flag.String("ids", "ids", "the folder of the worker ids")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *address, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "ent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, address, folder string) (err error) {
	store, err := filestore.Open(ctx, filestore.Config{Dir: folder})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	holder, err := fence.Open(ctx, fence.Config{Store: store, Namespace: "shop"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, holder.Close(ctx)) }()
	rules, err := keys.New(map[string]keys.Source{"orders.id": holder})
	if err != nil {
		return err
	}

	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	client, err := open(ctx, dialect.Postgres, db, rules)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	ada, err := client.Order.Create().SetCustomer("Ada").Save(ctx)
	if err != nil {
		return err
	}
	others, err := client.Order.CreateBulk(
		client.Order.Create().SetCustomer("Grace"),
		client.Order.Create().SetCustomer("Barbara"),
	).Save(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "created", ada.ID, others[0].ID, others[1].ID)
	return err
}

// open returns a client whose rows get their keys from the rules.
func open(ctx context.Context, dialect string, db *sql.DB, rules *keys.Rules) (*ent.Client, error) {
	client := ent.NewClient(ent.Driver(entsql.OpenDB(dialect, db)))
	client.Order.Use(fillKey(rules, order.Table+"."+order.FieldID))
	return client, client.Schema.Create(ctx)
}
