//go:build servers

package sqltest

import (
	"errors"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/leafalloc"
)

func TestLeafRangeIsTheStepOrAMultiple(t *testing.T) {
	eachSystem(t, func(t *testing.T, y system) {
		y.row(t, "step = 100")
		source := y.process(t)
		reserve := func(need int64, want counter.Range) {
			t.Helper()
			got, err := source.Reserve(t.Context(), few(need))
			if err != nil || got != want {
				t.Errorf("for %d: %+v, %v; want %+v", need, got, err, want)
			}
		}
		reserve(1, counter.Range{First: 1, Increment: 1, Count: 100})
		reserve(100, counter.Range{First: 101, Increment: 1, Count: 100})
		reserve(399, counter.Range{First: 201, Increment: 1, Count: 300})
		y.row(t, "step = 7")
		reserve(100, counter.Range{First: 501, Increment: 1, Count: 100}) // the step is read with this one
		if step := source.(*leafalloc.Source).Step(); step != 7 {
			t.Errorf("the step is %d", step)
		}
		reserve(20, counter.Range{First: 601, Increment: 1, Count: 14})
		if n := y.count(t); n != 614 {
			t.Errorf("it has counted to %d", n)
		}
	}, "leafalloc", "leafalloc on PostgreSQL")
}

func TestLeafTableWithoutTransactionsIsRefused(t *testing.T) {
	y := systems["leafalloc"](t) // PostgreSQL has no tables without transactions
	for _, engine := range []string{"MyISAM", "Aria", "InnoDB"} {
		do(t, y.admin(t), "ALTER TABLE leaf_alloc ENGINE = "+engine)
		_, err := y.open(t, y)
		config := new(counter.ConfigError)
		if refused := errors.As(err, &config) && config.Field == "engine" && config.Value == engine; refused != (engine != "InnoDB") {
			t.Errorf("%s: %v", engine, err)
		}
	}
}
