package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/sqlfunc"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

func (p program) bounds() *cobra.Command {
	var layout layoutFlag
	cmd := &cobra.Command{
		Use:   "bounds FROM TO",
		Short: "Print the lowest and the highest id of a span of time",
		Long: `Bounds prints the lowest and the highest id of a span, both inclusive, for a
query by the primary key. FROM belongs to the span, TO does not. A time is a
date, which begins at midnight in UTC, or an RFC 3339 instant.`,
		Example: `  snowfence bounds 2026-11-01 2026-12-01
  snowfence bounds 2026-11-01 2026-11-02 --config ids.yaml -g orders -o json`,
		Args: exactly(2),
	}
	out := p.report(cmd)
	layout.addChoice(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var span [2]time.Time
		for i, arg := range args {
			at, err := text.ParseMoment(arg)
			if err != nil {
				return usage(cmd, fmt.Errorf("%s is %q, %w", []string{"FROM", "TO"}[i], arg, err))
			}
			span[i] = at
		}
		l, err := layout.choose(p)
		if err != nil {
			return err
		}
		document, rows, err := boundsOf(l, span[0], span[1])
		if err != nil {
			return err
		}
		if span[0].Before(l.Epoch) || span[1].After(l.Horizon()) {
			at := func(t time.Time) string { return decode.FormatTime(t, l.Unit) }
			p.note("note: the span is cut to the layout's life, from %s to %s", at(l.Epoch), at(l.Horizon()))
		}
		_, bare, _ := strings.Cut(page.Table("bound, >id, time", rows), "\n")
		return out.answer(document, bare)
	}
	return cmd
}

// boundsOf returns the bounds of a span, with the times of their ticks where they are ids themselves.
func boundsOf(l snowfence.Layout, from, to time.Time) (document map[string]string, rows [][]string, err error) {
	document = map[string]string{"layout": l.String()}
	if l.Wide {
		lo, hi, err := l.BetweenWide(from, to)
		document["lo"], document["hi"] = l.Text(lo), l.Text(hi)
		return document, [][]string{{"lo", l.Text(lo), ""}, {"hi", l.Text(hi), ""}}, err
	}
	lo, hi, err := l.Between(from, to)
	for i, id := range []snowfence.ID{lo, hi} {
		var parts snowfence.Parts
		if err == nil {
			parts, err = l.Decompose(id)
		}
		name, at := []string{"lo", "hi"}[i], decode.FormatTime(l.TimeOf(parts.Tick), l.Unit)
		document[name], document[name+"_time"] = id.String(), at
		rows = append(rows, []string{name, id.String(), at})
	}
	return document, rows, err
}

func (p program) sql() *cobra.Command {
	var layout layoutFlag
	var o sqlfunc.Options
	cmd := &cobra.Command{
		Use:   "sql postgres|mysql|sqlite",
		Short: "Print SQL functions that read ids in a database",
		Long: `Sql prints plain SQL that takes the ids of a layout apart in a database:
functions for PostgreSQL, MySQL and MariaDB, a view for SQLite. Run it once, as
a migration. docs/database.md has examples.`,
		Example: `  snowfence sql postgres --layout twitter --prefix orders | psql shop
  snowfence sql sqlite --prefix orders --column order_id | sqlite3 shop.db`,
		Args:      exactly(1),
		ValidArgs: text.Strings(sqlfunc.Databases()),
	}
	layout.addChoice(cmd)
	cmd.Flags().Var(textFlag(&o.Prefix, "NAME"), "prefix", "begins the name of each function (default snowfence)")
	cmd.Flags().Var(textFlag(&o.Table, "NAME"), "table", "for sqlite: table of the ids (default: the prefix)")
	cmd.Flags().Var(textFlag(&o.Column, "NAME"), "column", "for sqlite: column of the ids (default id)")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		database := sqlfunc.Database(args[0])
		if database != sqlfunc.SQLite && o.Table+o.Column != "" {
			return usage(cmd, errors.New("--table and --column are for sqlite alone: functions take any column"))
		}
		if o.Layout, err = layout.choose(p); err != nil {
			return err
		}
		sql, err := sqlfunc.Write(database, o)
		if err != nil {
			return usage(cmd, err)
		}
		return p.print(sql)
	}
	return cmd
}
