package main

import (
	"context"
	"errors"
	"io"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/examples/internal/trial"
	"snowfence.example/snowfence/keys"
)

func TestManyGoroutinesCreateMintedKeysOnly(t *testing.T) {
	trial.Run(t, func(t *testing.T, s *trial.Shop) trial.Insert {
		dialector := postgres.New(postgres.Config{Conn: s.DB})
		if s.Scheme == "mysql" {
			dialector = mysql.New(mysql.Config{Conn: s.DB})
		}
		db, err := open(t.Context(), dialector, s.Rules)
		if err != nil {
			t.Fatal(err)
		}
		db.Logger = logger.Discard
		keepsToTheRules(t, db)
		return func(ctx context.Context, n int) ([]snowfence.ID, error) {
			if n == 1 {
				order := Order{Customer: "Ada"}
				err := db.WithContext(ctx).Create(&order).Error
				return []snowfence.ID{order.ID}, err
			}
			orders, ids := make([]*Order, n), make([]snowfence.ID, n)
			for i := range orders {
				orders[i] = &Order{Customer: "Grace"}
			}
			err := db.WithContext(ctx).Create(orders).Error
			for i, order := range orders {
				ids[i] = order.ID
			}
			return ids, err
		}
	})
}

// keepsToTheRules tries what is not a plain create, and leaves no order behind.
func keepsToTheRules(t *testing.T, db *gorm.DB) {
	t.Helper()
	given := Order{ID: 5, Customer: "Ada", Lines: []Line{{Article: "rope"}, {ID: 6, Article: "lamp"}}}
	if err := db.Create(&given).Error; err != nil || given.ID != 5 || given.Lines[0].ID == 0 || given.Lines[1].ID != 6 {
		t.Errorf("a key that is given: %+v, %v", given, err)
	}
	if err := db.Select("Lines").Delete(&given).Error; err != nil {
		t.Error(err)
	}
	some := Line{Article: "rope"}
	if err := errors.Join(db.Select("Article").Create(&some).Error, db.Delete(&some).Error); err != nil || some.ID == 0 {
		t.Errorf("some columns: %+v, %v", some, err)
	}
	type Customer struct{ ID snowfence.ID }
	for what, c := range map[string]struct {
		err  error
		want error
	}{
		"a struct by value":      {db.Create(Order{}).Error, gorm.ErrInvalidValue},
		"a nil in a batch":       {db.Create([]*Order{nil}).Error, gorm.ErrInvalidValue},
		"a map":                  {db.Model(&Order{}).Create(map[string]any{"customer": "Ada"}).Error, gorm.ErrInvalidValue},
		"a table without a rule": {db.Create(&Customer{}).Error, keys.ErrUnknownColumn},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: error is %v, want %v", what, c.err, c.want)
		}
	}
}

func TestProgramRunsTwice(t *testing.T) {
	folder := t.TempDir()
	trial.RunTwice(t, func(out io.Writer, address string) error { return run(t.Context(), out, address, folder) })
}
