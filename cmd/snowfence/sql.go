package main

import (
	"errors"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/sqlfunc"
	"snowfence.example/snowfence/internal/text"
)

func (p program) sql() *cobra.Command {
	var layout layoutFlag
	var o sqlfunc.Options
	cmd := &cobra.Command{
		Use:   "sql postgres|mysql|sqlite",
		Short: "Print SQL functions that read ids in a database",
		Long: `Sql prints plain SQL that takes the ids of a layout apart in a database. It
needs no extension and no special rights. Run it once, as a migration.

PostgreSQL, MySQL and MariaDB get functions, here with the prefix orders:

  orders_tick(id), orders_time(id)        the time, to the microsecond
  orders_datacenter(id), orders_worker(id), orders_sequence(id)
  orders_from(time), orders_until(time)   bounds for scans by key

SQLite has no stored functions. It gets a view, orders_ids, of the ids in
--table and --column: id, tick, datacenter, worker, sequence, time.`,
		Example: `  snowfence sql postgres --layout twitter --prefix orders | psql shop
  snowfence sql mysql --config snowfence.yaml -g orders --prefix orders
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
		if o.Layout, err = layout.choose(cmd.Context(), p); err != nil {
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
