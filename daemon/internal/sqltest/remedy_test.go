//go:build servers

package sqltest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/flickr"
	"snowfence.example/snowfence/counter/leafalloc"
)

// lowered is another system's counter that went back.
type lowered struct {
	source counter.Source
	lower  func()
	remedy func(mark int64) string // what the error must say
	apply  func(mark int64)        // what an operator does then
	again  func() counter.Source   // starts the process again, if that is said; nil if not
}

// TestRemedyOfASystemEndsItsError lowers a counter, and does no more than the error says. Then the
// next number is above the mark. A guard shows the remedy too.
func TestRemedyOfASystemEndsItsError(t *testing.T) {
	for system, start := range map[string]func(*testing.T) lowered{
		"leafalloc": loweredLeaf, "tinyid": loweredTiny, "flickr": loweredTickets, "rediscount": loweredDated,
	} {
		t.Run(system, func(t *testing.T) {
			l := start(t)
			for range 3 {
				if _, err := l.source.Reserve(t.Context(), few(1)); err != nil {
					t.Fatal(err)
				}
			}
			l.lower()
			_, err := l.source.Reserve(t.Context(), few(1))
			var back *counter.BackwardsError
			if !errors.As(err, &back) || !strings.HasSuffix(back.Error(), ": "+l.remedy(back.Mark)) {
				t.Fatalf("the error is %v, want the remedy %q", err, l.remedy(back.Mark))
			}
			l.apply(back.Mark)
			if l.again != nil {
				l.source = l.again()
			}
			got, err := l.source.Reserve(t.Context(), few(1))
			if err != nil || got.First <= back.Mark {
				t.Errorf("afterwards: %+v, %v; want a number above %d", got, err, back.Mark)
			}
			guard, _ := inAFolder(t)
			mark := got.Last() + 50
			if err := guard.Raise(t.Context(), got.First, mark); err != nil {
				t.Fatal(err)
			}
			_, err = counter.Guarded(l.source, guard, "orders").Reserve(t.Context(), few(1))
			if !errors.As(err, &back) || back.Mark != mark || !strings.HasSuffix(err.Error(), ": "+l.remedy(mark)) {
				t.Errorf("with a guard: %v, want the remedy %q", err, l.remedy(mark))
			}
		})
	}
}

func loweredLeaf(t *testing.T) lowered {
	t.Helper()
	db := mariaDB(t, sharedHome(t, "MariaDB"), nil, nil)
	must(t, db, leafalloc.DDL(leafalloc.MySQL))
	must(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 100, 10)")
	set := func(n int64) { must(t, db, "UPDATE leaf_alloc SET max_id = ?", n) }
	return lowered{
		leafSide{dialect: leafalloc.MySQL, db: db}.open(t, db, "orders"), func() { set(1) },
		func(mark int64) string {
			return fmt.Sprintf(`set max_id of biz_tag "orders" in leaf_alloc to %d or more`, mark+1)
		},
		func(mark int64) { set(mark + 1) }, nil,
	}
}

func loweredTiny(t *testing.T) lowered {
	t.Helper()
	db, _, _ := tiny(t)
	tinyRow(t, db, "orders", 100, 10, 1, 0)
	set := func(n int64) { must(t, db, "UPDATE tiny_id_info SET max_id = ?", n) }
	return lowered{
		openTiny(t, db, "orders"), func() { set(1) },
		func(mark int64) string {
			return fmt.Sprintf(`set max_id of biz_type "orders" in tiny_id_info to %d or more`, mark)
		},
		set, nil,
	}
}

func loweredTickets(t *testing.T) lowered {
	t.Helper()
	group := sharedTicketServers(t, 1)
	open := func() counter.Source {
		source, err := flickr.Open(t.Context(), flickr.Config{Servers: group})
		if err != nil {
			t.Fatal(err)
		}
		return source
	}
	return lowered{
		open(), func() { must(t, group[0].DB, "TRUNCATE TABLE Tickets64") },
		func(mark int64) string {
			return fmt.Sprintf("set AUTO_INCREMENT of Tickets64 on that server above all numbers in use, %d or more, and start this process again", mark+1)
		},
		func(mark int64) {
			must(t, group[0].DB, fmt.Sprintf("ALTER TABLE Tickets64 AUTO_INCREMENT = %d", mark+1))
		},
		open,
	}
}

func loweredDated(t *testing.T) lowered {
	t.Helper()
	d := onRedis(t)
	d.clock.now = time.Date(time.Now().Year()+1, 11, 22, 12, 0, 0, 0, time.UTC)
	return lowered{
		d.open(t, nil), func() { d.set(t, 1) },
		func(mark int64) string { return fmt.Sprintf("set key %s to %d or more", d.key(), mark%1_000_000) },
		func(mark int64) { d.set(t, mark%1_000_000) }, nil,
	}
}
