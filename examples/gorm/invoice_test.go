package main

import (
	"errors"
	"slices"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/internal/testkit"
)

// TestInvoicesOfEachTenantHaveNoHoles rolls the second of three invoices back.
func TestInvoicesOfEachTenantHaveNoHoles(t *testing.T) {
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			_, pool := testkit.SQL(t, scheme)
			dialector, dialect := postgres.New(postgres.Config{Conn: pool}), series.PostgreSQL
			if scheme == "mysql" {
				dialector, dialect = mysql.New(mysql.Config{Conn: pool}), series.MySQL
			}
			db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
			if err == nil {
				err = errors.Join(db.AutoMigrate(&Invoice{}), series.Create(t.Context(), pool, dialect))
			}
			if err != nil {
				t.Fatal(err)
			}
			errRefused := errors.New("refused")
			refuse := func(tx *gorm.DB) {
				if i, ok := tx.Statement.Dest.(*Invoice); ok && i.Total == 0 {
					_ = tx.AddError(errRefused)
				}
			}
			if err := db.Callback().Create().After("gorm:create").Register("refuse", refuse); err != nil {
				t.Fatal(err)
			}
			for _, tenant := range []string{"acme", "zeta"} {
				for _, total := range []int64{1, 0, 2} {
					i := Invoice{Tenant: tenant, Total: total}
					if err := i.issue(t.Context(), db, dialect); (total == 0) != errors.Is(err, errRefused) || total > 0 && err != nil {
						t.Errorf("%+v: %v", i, err)
					}
				}
				var numbers []string
				err := db.Model(&Invoice{}).Where("tenant = ?", tenant).Order("total").Pluck("number", &numbers).Error
				if err != nil || !slices.Equal(numbers, []string{"INV-1", "INV-2"}) {
					t.Errorf("%s has %q, %v", tenant, numbers, err)
				}
			}
		})
	}
}
