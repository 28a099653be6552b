//go:build servers

package sqltest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/flickr"
	"snowfence.example/snowfence/counter/leafalloc"
	"snowfence.example/snowfence/counter/tinyid"
)

// TestColumnThatIsTooNarrowRepeatsNoNumber has two processes reserve in turn, until their column
// holds no more. A server without strict mode stores its greatest number then, with a warning.
func TestColumnThatIsTooNarrowRepeatsNoNumber(t *testing.T) {
	const last = 1<<31 - 1 // of an int
	for system, prepare := range map[string]func(t *testing.T, db *sql.DB) (a, b counter.Source){
		"leafalloc": func(t *testing.T, db *sql.DB) (a, b counter.Source) {
			t.Helper()
			must(t, db, strings.Replace(leafalloc.DDL(leafalloc.MySQL), "max_id      bigint", "max_id      int", 1))
			l := leafSide{dialect: leafalloc.MySQL, db: db}
			l.tag(t, "orders", last-1500, 1000)
			return l.open(t, db, "orders"), l.open(t, db, "orders")
		},
		"tinyid": func(t *testing.T, db *sql.DB) (a, b counter.Source) {
			t.Helper()
			must(t, db, strings.Replace(tinyid.DDL(), "max_id      bigint", "max_id      int", 1))
			tinyRow(t, db, "orders", last-1500, 1000, 1, 0)
			return openTiny(t, db, "orders"), openTiny(t, db, "orders")
		},
		"flickr": func(t *testing.T, db *sql.DB) (a, b counter.Source) {
			t.Helper()
			must(t, db, strings.Replace(flickr.DDL(), "bigint unsigned", "int", 1))
			must(t, db, fmt.Sprint("ALTER TABLE Tickets64 AUTO_INCREMENT = ", last-3))
			open := func() counter.Source {
				source, err := flickr.Open(t.Context(), flickr.Config{Servers: []flickr.Server{{DB: db}}})
				if err != nil {
					t.Log(err)
					return nil
				}
				return source
			}
			return open(), open()
		},
	} {
		t.Run(system, func(t *testing.T) {
			db := mariaDB(t, sharedHome(t, "MariaDB"), nil, map[string]string{"sql_mode": "''"})
			a, b := prepare(t, db)
			if a == nil || b == nil {
				return // it is refused at once
			}
			var all []counter.Range
			for range 5 {
				for _, source := range []counter.Source{b, a} {
					got, err := source.Reserve(t.Context(), few(1))
					if err != nil {
						t.Log(err)
						continue
					}
					all = append(all, got)
				}
			}
			if len(all) == 0 {
				t.Error("nothing was reserved, though the column had room")
			}
			if _, err := apart(all); err != nil {
				t.Error(err)
			}
		})
	}
}
