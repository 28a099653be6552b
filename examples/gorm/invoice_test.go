package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/internal/testkit"
)

// TestInvoicesOfEachTenantHaveNoHoles writes invoices of two tenants by many goroutines. One in three is rolled back.
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
				if i, ok := tx.Statement.Dest.(*Invoice); ok && i.Total%3 == 0 {
					_ = tx.AddError(errRefused)
				}
			}
			if err := db.Callback().Create().After("gorm:create").Register("refuse", refuse); err != nil {
				t.Fatal(err)
			}
			for _, tenant := range []string{"acme", "zeta"} { // it begins the series
				if err := (&Invoice{Tenant: tenant, Total: 1}).issue(t.Context(), db, dialect); err != nil {
					t.Fatal(err)
				}
			}
			const goroutines, each = 6, 15
			var group sync.WaitGroup
			for g := range goroutines {
				group.Go(func() {
					for n := range each {
						i := Invoice{Tenant: []string{"acme", "zeta"}[g%2], Total: int64(n)}
						if err := i.issue(t.Context(), db, dialect); (n%3 == 0) != errors.Is(err, errRefused) || n%3 != 0 && err != nil {
							t.Errorf("%+v: %v", i, err)
						}
					}
				})
			}
			group.Wait()
			for _, tenant := range []string{"acme", "zeta"} {
				complete(t.Context(), t, db, tenant, 1+goroutines/2*each*2/3)
			}
		})
	}
}

// complete checks that a tenant has the numbers 1 to n, each once.
func complete(ctx context.Context, t *testing.T, db *gorm.DB, tenant string, n int) {
	t.Helper()
	var found []Invoice
	if err := db.WithContext(ctx).Where("tenant = ?", tenant).Find(&found).Error; err != nil {
		t.Fatal(err)
	}
	numbers := map[string]bool{}
	for _, i := range found {
		numbers[i.Number] = true
	}
	for i := range n {
		if number := fmt.Sprintf("INV-%d", i+1); !numbers[number] {
			t.Errorf("%s lacks %s", tenant, number)
		}
	}
	if len(found) != n {
		t.Errorf("%s has %d invoices, want %d", tenant, len(found), n)
	}
}
