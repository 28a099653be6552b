package main

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"

	"snowfence.example/snowfence/counter/series"
)

// Invoice is a document whose numbers have no holes. Each tenant has numbers of its own.
type Invoice struct {
	Tenant string `gorm:"primaryKey;size:64"`
	Number string `gorm:"primaryKey;size:96"`
	Total  int64
}

// issue writes an invoice with the next number of its tenant. The number and the row are of one transaction: if that is
// rolled back, the next invoice gets the number. While it runs, other invoices of the tenant wait, so keep it short.
// MySQL may end one of two transactions that both begin a series, as a deadlock: issue that invoice again.
func (i *Invoice) issue(ctx context.Context, db *gorm.DB, dialect series.Dialect) error {
	numbers, err := series.New(series.Config{Dialect: dialect, Tenant: i.Tenant, Name: "invoices", Prefix: "INV-"})
	if err != nil {
		return err
	}
	return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		r, err := numbers.Reserve(ctx, tx.Statement.ConnPool, time.Minute) // within GORM's transaction
		if err != nil {
			return err
		}
		i.Number = r.Text
		if err := tx.Create(i).Error; err != nil {
			return err
		}
		return numbers.Confirm(ctx, tx.Statement.ConnPool, r.Number, r.Token)
	}, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}
