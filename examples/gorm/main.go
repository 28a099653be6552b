// Command gorm writes orders with fenced ids by GORM. The plugin that gives the keys is in
// plugin.go. The worker ids' registers are in a folder, which the processes of one host share:
//
//	GOWORK=off go run ./gorm -database postgres://me:secret@localhost/shop -ids /var/lib/shop
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/keys"
	"snowfence.example/snowfence/store/filestore"
)

// Order is a model. Its key is a number that the program sets, and not the database.
type Order struct {
	ID       snowfence.ID `gorm:"primaryKey;autoIncrement:false"`
	Customer string
	Lines    []Line
}

// Line belongs to an order.
type Line struct {
	ID      snowfence.ID `gorm:"primaryKey;autoIncrement:false"`
	OrderID snowfence.ID
	Article string
}

func main() {
	address := flag.String("database", "postgres://localhost/shop", "the PostgreSQL database to write to")
	folder := flag.String("ids", "ids", "the folder of the worker ids")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *address, *folder); err != nil {
		fmt.Fprintln(os.Stderr, "gorm:", err)
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
	rules, err := keys.New(map[string]keys.Source{"orders.id": holder, "lines.id": holder})
	if err != nil {
		return err
	}

	db, err := open(ctx, postgres.Open(address), rules)
	if err != nil {
		return err
	}
	order := Order{Customer: "Ada", Lines: []Line{{Article: "rope"}, {Article: "lamp"}}}
	if err := db.Create(&order).Error; err != nil {
		return err
	}
	batch := []Order{{Customer: "Grace"}, {Customer: "Barbara"}}
	if err := db.Create(&batch).Error; err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "created", order.ID, order.Lines[0].ID, order.Lines[1].ID, batch[0].ID, batch[1].ID)
	return err
}

// open opens a database whose rows get their keys from the rules.
func open(ctx context.Context, dialector gorm.Dialector, rules *keys.Rules) (*gorm.DB, error) {
	db, err := gorm.Open(dialector, &gorm.Config{})
	if err != nil {
		return nil, err
	}
	db = db.WithContext(ctx)
	if err := db.Use(Keys{rules}); err != nil {
		return nil, err
	}
	return db, db.AutoMigrate(&Order{}, &Line{})
}
