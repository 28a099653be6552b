package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/registers"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/text"
	"snowfence.example/snowfence/store"
)

func (p program) namespace() *cobra.Command {
	return group(&cobra.Command{
		Use:   "namespace",
		Short: "List, show or verify namespaces, or print their store's schema",
		Long: `A namespace is one space of unique ids in one store: one layout, one epoch, one
set of worker ids. These verbs read it and write nothing.`,
		Example: `  snowfence namespace list
  snowfence namespace show
  snowfence namespace verify --namespace orders`,
	}, p.namespaceList(), p.namespaceShow(), p.namespaceVerify(), p.namespaceSchema())
}

func (p program) namespaceList() *cobra.Command {
	return p.onStore(&cobra.Command{
		Use:   "list",
		Short: "List the namespaces of a store",
		Long: `List shows every namespace of a store: its layout, when it was made, and how
many of its worker ids were ever claimed, and are held.`,
		Example: `  snowfence namespace list
  snowfence namespace list --store etcd://etcd1/ids -o json`,
	}, func(ctx context.Context, out *report, s store.Store, _ string, _ []string) error {
		all, err := roster.Namespaces(ctx, s, p.clock.Wall())
		if err != nil {
			return err
		}
		for _, n := range all {
			created, damage, capacity := "", "", int64(0)
			if n.Err != nil {
				damage = text.Message(n.Err)
			} else {
				created, capacity = n.Record.Created.UTC().Format(time.RFC3339), n.Capacity()
			}
			err := out.object(page.Object{
				"namespace", n.Name, "layout?", n.Record.Layout, "created?", created, "capacity", capacity,
				"registers", n.Workers, "held", n.Held, "error?", damage,
			})
			if err != nil {
				return err
			}
			out.row(n.Name, cmp.Or(n.Record.Layout, "-"), cmp.Or(created, damage), fmt.Sprint(capacity), fmt.Sprint(n.Workers), fmt.Sprint(n.Held))
		}
		return out.end("namespace, layout, created, >workers, >claimed, >held")
	})
}

func (p program) namespaceShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show a namespace's layout, time span, worker ids and store",
		Long: `Show prints the record of a namespace and its consequences: layout, epoch,
horizon, worker ids, incarnation, and how its store describes itself.`,
		Example: `  snowfence namespace show
  snowfence namespace show --namespace orders -o json`,
	}
	return p.onRoster(cmd, func(out *report, r *roster.Roster, _ []string) error {
		return out.whole(registers.NamespaceOf(r))
	})
}

func (p program) namespaceVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read every register of a namespace and list the faults",
		Long: `Verify reads every register of a namespace, writes nothing, and reports what is
wrong in it, and whether the store is older than what was given out: by the
journals in --data, and what you give. Without -g and --namespace it verifies
that of each generator. The exit code is 1 if there is an error. See
docs/restoring.md.`,
		Example: `  snowfence namespace verify --config snowfence.yaml
  snowfence namespace verify --ids 'mysql://me@db/shop#select id from t'`,
	}
	known := &givenOut{program: p}
	known.add(cmd)
	return p.onEverySite(cmd, []string{"last-id", "ids", "last-number"}, func(out *report, at *site, r *roster.Roster, err error) error {
		return out.verify(cmd, at, r, err, known)
	})
}

// verify verifies the namespace of one site and prints the findings. Opened is the error of opening the namespace.
func (out *report) verify(cmd *cobra.Command, at *site, r *roster.Roster, opened error, known *givenOut) error {
	ctx := cmd.Context()
	kept, err := pages(at.settings)
	if err != nil {
		return err
	}
	v := registers.Verdict{Namespace: at.roster.Namespace, Found: map[roster.Severity]int64{}}
	show := func(found []roster.Finding, err error) error {
		for _, x := range found {
			document, line := registers.FindingOf(x)
			if err := out.answer(document, line); err != nil {
				return err
			}
			v.Found[x.Severity]++
		}
		return err
	}
	switch err = opened; {
	case errors.Is(err, roster.ErrNoNamespace):
		if err = known.alone(ctx, at.roster, kept); err == nil {
			err = show([]roster.Finding{{Severity: roster.Note, Check: roster.CheckNamespace, Key: v.Namespace,
				Text: "the namespace has no record, as one with counters alone: only these were compared"}}, nil)
		}
	case err == nil:
		var read roster.Verdict
		for x, wrong := range r.Verify(ctx, &read) {
			if wrong != nil {
				return unavailable(wrong)
			}
			if err := show([]roster.Finding{x}, nil); err != nil {
				return err
			}
		}
		v.Registers = read.Registers
		err = show(known.compare(ctx, r))
		for i := 0; i < len(kept) && err == nil; i++ {
			behind, ours, wrong := r.Compare(ctx, kept[i])
			if ours {
				v.Pages++
			}
			err = show(behind, unavailable(wrong))
		}
	}
	if err == nil {
		err = show(known.counters(ctx, at))
	}
	if err != nil {
		return err
	}
	v.IDs, v.Clocks = known.compared, registers.ClocksOf(r)
	return out.verdict(v.Document(), v.Text(), exitUnless(v.Found[roster.Fault] == 0))
}

func (p program) namespaceSchema() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the schema of a store, to make it by hand",
		Long: `Schema prints what has to be made by hand where the program may not do so:
tables for PostgreSQL and MySQL, a stream for NATS. With --store it prints all
that the program may need there; it connects to no store.`,
		Example: `  snowfence namespace schema --config snowfence.yaml
  snowfence namespace schema --store postgres://ids@db/ids | psql ...`,
	}
	s := settingFlags(cmd, "store", "namespace", "layout", "data")
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		all, err := builtin.Schemas(c, cmd.Flags().Changed("store"))
		if err != nil {
			return err
		}
		var said page.Page
		needy := slices.DeleteFunc(slices.Clone(all), func(x builtin.Schema) bool { return len(x.Parts) == 0 })
		for _, x := range all {
			if len(x.Parts) == 0 {
				p.warn("nothing has to be made by hand in " + c.ShowStore(x.URL))
				continue
			}
			if len(needy) > 1 {
				said.Line("-- in %s:", c.ShowStore(x.URL))
			}
			for _, part := range x.Parts {
				if engine.IsDatabase(x.URL) {
					part += ";"
				}
				said.WriteString(part + "\n")
			}
		}
		return p.print(said.String())
	}
	return cmd
}
