package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/store"
)

// site is a namespace of a store, as the configuration names them. The store is opened
// later; verbs that only read make none, so that a mistyped one leaves nothing behind.
type site struct {
	program
	settings    config.Config
	store       string        // the URL of the namespace's store
	roster      roster.Config // without a store until it is opened
	datacenters []int64       // that the configuration gives the namespace; none means all
}

// siteFlags adds the flags that say which namespace of which store is meant.
func siteFlags(cmd *cobra.Command) *settings {
	s := settingFlags(cmd, "store", "namespace", "layout", "data")
	generatorFlag(cmd, &s.generator, "generator of the configuration whose namespace and store are meant")
	return s
}

// named returns the namespace and the store of the generator that --generator names. Another --store wins.
func (s *settings) named(c config.Config) (namespace, store string, err error) {
	name, g, err := s.choose(c, s.generator)
	switch {
	case err != nil:
	case s.cmd.Flags().Changed("namespace"):
		err = usage(s.cmd, errors.New("--namespace and --generator both name a namespace: must be one of them"))
	case !builtin.OnStore(g.Kind):
		err = usage(s.cmd, fmt.Errorf("generator %s is of kind %s: it has no namespace in a store", name, g.Kind))
	}
	if err != nil {
		return "", "", err
	}
	if s.cmd.Flags().Changed("store") {
		return g.Namespace, c.Store, nil
	}
	return g.Namespace, c.StoresOf(g)[0], nil
}

// siteOf is siteIn in the configuration that the flags name.
func (p program) siteOf(s *settings) (*site, error) {
	c, err := s.load(p, "namespace")
	if err != nil {
		return nil, err
	}
	return p.siteIn(c, s)
}

// siteIn finds the site that the configuration names. The namespace is that of --namespace, or else the one of the
// generator that next would use. The flag does not move the generators there.
func (p program) siteIn(c config.Config, s *settings) (_ *site, err error) {
	namespace, rollback := s.cmd.Flags().Lookup("namespace").Value.String(), time.Duration(0)
	store := c.Store
	if s.generator != "" {
		if namespace, store, err = s.named(c); err != nil {
			return nil, err
		}
	}
	if namespace == "" {
		_, g, err := s.choose(c, "")
		if err == nil && !g.Fenced() {
			err = fmt.Errorf("the generator is of kind %s, without worker ids", g.Kind)
		}
		if err != nil {
			return nil, usage(s.cmd, fmt.Errorf("say by -g or --namespace which one is meant: %w", err))
		}
		namespace = g.Namespace
	}
	var datacenters []int64
	for _, name := range c.Names() {
		g := c.Generators[name]
		if !g.Fenced() || g.Namespace != namespace {
			continue
		}
		if s.generator == "" && !s.cmd.Flags().Changed("store") {
			store = c.StoresOf(g)[0]
		}
		rollback = cmp.Or(rollback, g.Policy.MaxRollback)
		if len(datacenters) == 0 {
			datacenters = g.Datacenters // those who name none are fine with any
		}
	}
	if engine.Private(store) {
		p.warn("the store " + store + " is of this process alone: it has nothing to show")
	}
	at := roster.Config{Namespace: namespace, MaxRollback: rollback, Clock: p.clock, Process: p.process()}
	return &site{program: p, settings: c, store: store, roster: at, datacenters: datacenters}, nil
}

// layoutOf returns the layout of a fenced generator's ids. One without a layout in the configuration has the
// namespace's own, for which the store is asked; a namespace that does not exist will get the default.
func (p program) layoutOf(ctx context.Context, c config.Config, name string) (snowfence.Layout, error) {
	g := c.Generators[name]
	url := c.StoresOf(g)[0]
	if !g.AnyLayout || engine.Private(url) {
		return g.Layout, nil
	}
	at := site{program: p, settings: c, store: url, roster: roster.Config{Namespace: g.Namespace, Clock: p.clock}}
	err := at.open(ctx, true)
	if err == nil {
		defer at.close()
		var r *roster.Roster
		if r, err = roster.Open(ctx, at.roster); err == nil {
			return r.Layout(), nil
		}
	}
	if openstore.Missing(err) || errors.Is(err, roster.ErrNoNamespace) {
		return g.Layout, nil
	}
	return snowfence.Layout{}, unavailable(fmt.Errorf("read the layout of generator %s, which the configuration does not name (say it by --layout): %w", name, err))
}

// open opens the site's store, unless it is open. One that must exist is not made: then
// an error that is [openstore.Missing] is returned.
func (at *site) open(ctx context.Context, mustExist bool) error {
	if at.roster.Store != nil {
		return nil
	}
	by := openstore.Open
	if mustExist {
		by = openstore.OpenExisting
	}
	done := at.awaiting("the store " + at.settings.ShowStore(at.store))
	opened, err := by(ctx, at.store)
	done()
	if err == nil {
		at.roster.Store = opened
	}
	return unavailable(err)
}

// close closes the site's store if it was opened.
func (at *site) close() {
	if at.roster.Store != nil {
		at.closing("close store: ", at.roster.Store.Close)
	}
}

// onStore completes a verb that works on the content of a store, such as the counters of a namespace.
func (p program) onStore(cmd *cobra.Command, run func(ctx context.Context, out *report, s store.Store, namespace string, args []string) error) *cobra.Command {
	f, s := outputFlag(cmd), siteFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		at := site{program: p, settings: c, store: c.Store, roster: roster.Config{Namespace: c.Namespace}}
		if s.generator != "" {
			if at.roster.Namespace, at.store, err = s.named(c); err != nil {
				return err
			}
		}
		if err := at.open(cmd.Context(), true); err != nil {
			return err
		}
		defer at.close()
		return unavailable(run(cmd.Context(), &report{program: p, form: *f}, at.roster.Store, at.roster.Namespace, args))
	}
	return cmd
}

// onRoster completes a verb that works on a namespace, which must exist, and hold to
// --layout if that is given. Each argument of such a verb is a worker number.
func (p program) onRoster(cmd *cobra.Command, run func(cmd *cobra.Command, f form, r *roster.Roster, args []string) error) *cobra.Command {
	f, s := outputFlag(cmd), siteFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := p.siteOf(s)
		if err != nil {
			return err
		}
		return at.run(cmd, func(r *roster.Roster, err error) error {
			if errors.Is(err, roster.ErrNoNamespace) {
				err = fmt.Errorf("%w (see 'snowfence namespace list', and for generators that count 'snowfence counters list')", err)
			}
			if err != nil {
				return err
			}
			return run(cmd, *f, r, args)
		})
	}
	return cmd
}

// onEverySite completes a verb that works on a namespace, or where there is none gets the error. Where no flag names one, and
// none is given that is for one alone, it works on the namespaces of all generators with worker ids, one after the other. What
// was reported of one of them is returned unless another could not be read.
func (p program) onEverySite(cmd *cobra.Command, single []string, run func(cmd *cobra.Command, f form, at *site, r *roster.Roster, err error) error) *cobra.Command {
	f, s := outputFlag(cmd), siteFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := s.load(p, "namespace")
		if err != nil {
			return err
		}
		names := []string{s.generator}
		chosen := slices.ContainsFunc(append(single, "generator", "namespace"), cmd.Flags().Changed)
		if all := namespacesOf(c); !chosen && len(all) > 0 {
			names = all
		}
		var failed, found error
		for _, s.generator = range names {
			at, err := p.siteIn(c, s)
			if err == nil {
				err = at.run(cmd, func(r *roster.Roster, err error) error { return run(cmd, *f, at, r, err) })
			}
			switch {
			case errors.As(err, new(reported)):
				found = err
			case err != nil && len(names) > 1:
				failed = errors.Join(failed, fmt.Errorf("generator %s: %w", s.generator, err))
			default:
				failed = errors.Join(failed, err)
			}
		}
		return cmp.Or(failed, found)
	}
	return cmd
}

// namespacesOf returns the first generator with worker ids of each namespace and store.
func namespacesOf(c config.Config) (names []string) {
	seen := map[[2]string]bool{}
	for _, name := range c.Names() {
		g := c.Generators[name]
		key := [2]string{g.Namespace, c.StoresOf(g)[0]}
		if g.Fenced() && !seen[key] {
			seen[key] = true
			names = append(names, name)
		}
	}
	return names
}

// run opens the site's store, which must exist, and its namespace, which must hold to --layout if that is given, for as long
// as something is done with it.
func (at *site) run(cmd *cobra.Command, do func(*roster.Roster, error) error) error {
	if err := at.open(cmd.Context(), true); err != nil {
		return err
	}
	defer at.close()
	r, err := roster.Open(cmd.Context(), at.roster)
	if err != nil {
		return do(nil, unavailable(err))
	}
	if given := at.settings.Layout; cmd.Flags().Changed("layout") && !given.Equal(r.Layout()) {
		err = &fence.LayoutMismatchError{Namespace: r.Name(), Stored: r.Record().Layout, Configured: given.String()}
	}
	return do(r, err)
}
