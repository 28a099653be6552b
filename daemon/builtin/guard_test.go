//go:build servers

package builtin

import (
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
)

// database starts an engine, and connects to it until the test ends.
func database(t *testing.T, name string) (url string, db *openstore.Database) {
	t.Helper()
	url = testkit.StartEngine(t, name).URL("", 0)
	db, err := openstore.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the server ends with the test
	return url, db
}

// TestColumnThatHoldsNoWholeNumbersIsNoGuard has the numbers 999 and 1050 in a column of each type. The
// greatest text of them is 999.
func TestColumnThatHoldsNoWholeNumbersIsNoGuard(t *testing.T) {
	for name, types := range map[string]map[string]string{ // the database's name of a type that is refused
		"postgres": {
			"smallint": "", "int": "", "bigint": "", "numeric(20,0)": "",
			"text": "TEXT", "varchar(20)": "VARCHAR", "char(20)": "BPCHAR", "numeric": "NUMERIC", "numeric(20,2)": "NUMERIC", "double precision": "FLOAT8", "real": "FLOAT4",
		},
		"mysql": {
			"smallint": "", "mediumint": "", "int": "", "bigint": "", "bigint unsigned": "", "decimal(20,0)": "",
			"text": "TEXT", "varchar(20)": "VARCHAR", "char(20)": "CHAR", "varbinary(20)": "VARBINARY", "decimal(20,2)": "DECIMAL", "double": "DOUBLE", "float": "FLOAT",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := database(t, name)
			for of, refused := range types {
				table := "of_" + strings.NewReplacer(" ", "_", "(", "_", ")", "", ",", "_").Replace(of)
				for _, statement := range []string{
					"CREATE TABLE " + table + " (id " + of + ")", "INSERT INTO " + table + " VALUES (NULL)",
					"INSERT INTO " + table + " VALUES (999)", "INSERT INTO " + table + " VALUES (1050)",
				} {
					if _, err := db.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				err := mintBehind(t, url, table+".id")
				var back *counter.BackwardsError
				var wrong *counter.ConfigError
				switch {
				case refused == "" && (!errors.As(err, &back) || back.Mark != 1050):
					t.Errorf("%s: %v, must be the refusal of a counter that is behind 1050", of, err)
				case refused != "" && (!errors.As(err, &wrong) || !strings.HasPrefix(wrong.Value, table+".id of type "+refused)):
					t.Errorf("%s: %v, must be refused as %s", of, err, refused)
				}
			}
		})
	}
}

// TestColumnGuardLooksAtTheTableThatWasFoundAtOpening opens a guard behind a pooler. Then another client lets the sessions show a
// table of the same name, in another schema.
func TestColumnGuardLooksAtTheTableThatWasFoundAtOpening(t *testing.T) {
	t.Parallel()
	pooler := testkit.PgBouncer(t, testkit.Postgres(t), "transaction")
	pooled := "postgres://" + url.UserPassword(testkit.SQLUser, testkit.SQLPassword).String() + "@" + pooler.Addr() + "/" + testkit.SQLDatabase
	db, err := openstore.Connect(pooled)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // the server ends with the test
	for _, statement := range []string{
		"CREATE TABLE orders (id bigint)", "INSERT INTO orders VALUES (1050)", "CREATE SCHEMA other", "CREATE TABLE other.orders (id bigint)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	minter := openBehind(t, pooled, "orders.id")
	var others []*sql.Tx
	for range 3 { // the pooler has as many sessions
		tx, err := db.BeginTx(t.Context(), nil)
		if err == nil {
			_, err = tx.ExecContext(t.Context(), "SET search_path = other")
		}
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, tx)
	}
	for _, tx := range others {
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	var back *counter.BackwardsError
	if err := minter.Mint(t.Context(), 1, new(kind.Batch)); !errors.As(err, &back) || back.Mark != 1050 {
		t.Errorf("%v, must be the refusal of a counter that is behind 1050", err)
	}
}

// mintBehind mints one ticket of a new counter whose guard is a column.
func mintBehind(t *testing.T, url, column string) error {
	t.Helper()
	return openBehind(t, url, column).Mint(t.Context(), 1, new(kind.Batch))
}

// openBehind opens a new counter whose guard is a column.
func openBehind(t *testing.T, url, column string) kind.Minter {
	t.Helper()
	c := with(t, config.Generator{Kind: "ticket", Settings: map[string]string{"guard": "pg", "guard-column": column}})
	c.Settings.Stores["pg"] = url
	return opened(t, c, "orders")
}
