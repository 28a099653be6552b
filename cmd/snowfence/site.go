package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
// later. Verbs that only read make no store, so a mistyped URL leaves nothing behind.
type site struct {
	program
	settings    config.Config
	store       string        // the URL of the namespace's store
	roster      roster.Config // without a store until it is opened
	datacenters []int64       // of the namespace by the configuration; empty means all
}

// siteFlags adds the flags that choose a namespace and its store.
func siteFlags(cmd *cobra.Command) *settings {
	s := settingFlags(cmd, "store", "namespace", "layout", "data")
	generatorFlag(cmd, &s.generator, "generator of the configuration whose namespace and store are meant")
	return s
}

// named returns the namespace and the store of the generator that --generator names; without the flag, what is given.
// --store wins over the generator's.
func (s *settings) named(c config.Config, otherwise string) (namespace, store string, err error) {
	if s.generator == "" {
		return otherwise, c.Store, nil
	}
	name, g, err := s.choose(c)
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

// siteAt returns the site of a namespace in the store of a URL.
func (p program) siteAt(c config.Config, namespace, store string) *site {
	return &site{program: p, settings: c, store: store, roster: roster.Config{Namespace: namespace, Clock: p.clock, Process: p.process()}}
}

// siteOf is siteIn in the configuration that the flags name.
func (p program) siteOf(s *settings) (*site, error) {
	c, err := s.load(p, "namespace")
	if err != nil {
		return nil, err
	}
	return p.siteIn(c, s)
}

// siteIn returns the site that the flags choose. Its namespace is that of --generator or --namespace, or else of the
// generator that the verb next uses. --namespace chooses a site, and moves no generator.
func (p program) siteIn(c config.Config, s *settings) (*site, error) {
	namespace, store, err := s.named(c, s.cmd.Flags().Lookup("namespace").Value.String())
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		_, g, err := s.choose(c)
		if err == nil && !g.Fenced() {
			err = fmt.Errorf("the generator is of kind %s, without worker ids", g.Kind)
		}
		if err != nil {
			return nil, usage(s.cmd, fmt.Errorf("say by -g or --namespace which one is meant: %w", err))
		}
		namespace = g.Namespace
	}
	at := p.siteAt(c, namespace, store)
	for _, name := range c.Names() {
		g := c.Generators[name]
		if !g.Fenced() || g.Namespace != namespace {
			continue
		}
		if s.generator == "" && !s.cmd.Flags().Changed("store") {
			at.store = c.StoresOf(g)[0]
		}
		at.roster.MaxRollback = cmp.Or(at.roster.MaxRollback, g.Policy.MaxRollback)
		if len(at.datacenters) == 0 {
			at.datacenters = g.Datacenters // a generator that names none accepts any
		}
	}
	if engine.Private(at.store) {
		p.warn("the store " + at.store + " is of this process alone: it has nothing to show")
	}
	return at, nil
}

// layoutOf returns the layout of a fenced generator's ids. If the configuration names none, the layout is the namespace's,
// or the default for a namespace that does not exist yet.
func (p program) layoutOf(cmd *cobra.Command, c config.Config, name string) (l snowfence.Layout, err error) {
	g := c.Generators[name]
	url := c.StoresOf(g)[0]
	if !g.AnyLayout || engine.Private(url) {
		return g.Layout, nil
	}
	err = p.siteAt(c, g.Namespace, url).run(cmd, func(r *roster.Roster, err error) error {
		if err == nil {
			l = r.Layout()
		}
		return err
	})
	switch {
	case err == nil:
		return l, nil
	case absent(err):
		return g.Layout, nil
	}
	return l, unavailable(fmt.Errorf(
		"read the layout of generator %s, which the configuration does not name (say it by --layout): %w", name, err))
}

// absent reports whether an error means that a store or a namespace does not exist.
func absent(err error) bool { return openstore.Missing(err) || errors.Is(err, roster.ErrNoNamespace) }

// open opens the site's store, unless it is open. If the store must exist and does not, open makes none and returns an
// error that is [openstore.Missing].
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

// run opens the site's store and namespace, calls do and closes the store. Do gets an error if the namespace does not exist,
// or if its layout is another one than --layout.
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

// onSite completes a verb with the flags of a site and of the output.
func (p program) onSite(cmd *cobra.Command, run func(out *report, s *settings, args []string) error) *cobra.Command {
	out, s := p.report(cmd), siteFlags(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(_ *cobra.Command, args []string) error { return run(out, s, args) }
	return cmd
}

// onStore completes a verb that works on the content of a store, such as the counters of a namespace. Without a flag
// that is the namespace of all generators on a store, if they have one in common, or else the configuration's.
func (p program) onStore(
	cmd *cobra.Command, run func(ctx context.Context, out *report, s store.Store, namespace string, args []string) error,
) *cobra.Command {
	return p.onSite(cmd, func(out *report, s *settings, args []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		onStore := func(g config.Generator) bool { return builtin.OnStore(g.Kind) }
		if all := namespacesOf(c, onStore); len(all) == 1 && s.generator == "" && !cmd.Flags().Changed("namespace") {
			s.generator = all[0]
		}
		namespace, store, err := s.named(c, c.Namespace)
		if err != nil {
			return err
		}
		at := p.siteAt(c, namespace, store)
		if err := at.open(cmd.Context(), true); err != nil {
			return err
		}
		defer at.close()
		return unavailable(run(cmd.Context(), out, at.roster.Store, namespace, args))
	})
}

// onRoster completes a verb that works on a namespace, which must exist.
func (p program) onRoster(cmd *cobra.Command, run func(out *report, r *roster.Roster, args []string) error) *cobra.Command {
	return p.onSite(cmd, func(out *report, s *settings, args []string) error {
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
			return run(out, r, args)
		})
	})
}

// onEverySite completes a verb that works on a namespace, or gets the error if there is none. Without a flag that names a
// namespace, and without a flag that is for a single one, the verb works on the namespaces of all generators with worker ids,
// one after the other. A failure in one of them wins over a finding in another.
func (p program) onEverySite(
	cmd *cobra.Command, single []string, run func(out *report, at *site, r *roster.Roster, err error) error,
) *cobra.Command {
	return p.onSite(cmd, func(out *report, s *settings, _ []string) error {
		c, err := s.load(p, "namespace")
		if err != nil {
			return err
		}
		names := []string{s.generator}
		chosen := slices.ContainsFunc(append(single, "generator", "namespace"), cmd.Flags().Changed)
		if all := namespacesOf(c, config.Generator.Fenced); !chosen && len(all) > 0 {
			names = all
		}
		var failed, found error
		for _, s.generator = range names {
			at, err := p.siteIn(c, s)
			if err == nil {
				err = at.run(cmd, func(r *roster.Roster, err error) error { return run(out, at, r, err) })
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
	})
}

// namespacesOf returns the first of such generators of each namespace and store.
func namespacesOf(c config.Config, such func(config.Generator) bool) (names []string) {
	seen := map[[2]string]bool{}
	for _, name := range c.Names() {
		g := c.Generators[name]
		key := [2]string{g.Namespace, c.StoresOf(g)[0]}
		if such(g) && !seen[key] {
			seen[key] = true
			names = append(names, name)
		}
	}
	return names
}
