package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// maxNext is the most ids of one run: all are in memory before the first is printed.
const maxNext = 10_000_000

func (p program) next() *cobra.Command {
	n := 1
	encoding := decode.Decimal
	cmd := &cobra.Command{
		Use:   "next",
		Short: "Print new ids, no daemon needed",
		Long: `Next claims a worker id in the store, mints ids, gives the worker id back and
prints the ids. It needs no daemon, and disturbs none on the same store. Of kind
opaque it shows new ids of the generator behind it. Nothing is printed unless
all ids were minted.`,
		Example: `  snowfence next -n 10 -o json
  snowfence next --config snowfence.yaml -g public-order`,
	}
	out := p.report(cmd)
	cmd.Flags().VarP(numberFlag(&n, "1", 1, maxNext), "count", "n", "how many ids")
	encodingFlag(cmd, &encoding, "encoding of the ids: %s")
	s := settingFlags(cmd, "store", "namespace", "layout", "data", config.KeyMustExist)
	generatorFlag(cmd, &s.generator, "generator of the configuration (default: the one named default, or the only one)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, name, g, err := s.loadGenerator(p)
		if err != nil {
			return err
		}
		if store := c.StoresOf(g)[0]; builtin.OnStore(g.Kind) && engine.Private(store) {
			p.warn("the store " + store + " is of this process alone: these ids differ from each other, but perhaps not from any others")
		}
		if err := p.needsOutput("the ids"); err != nil {
			return err
		}
		switch {
		case g.Kind == builtin.KindSeries:
			return usage(cmd, fmt.Errorf("generator %s: %w: see 'snowfence series'", name, builtin.ErrReserve))
		case g.Kind != config.KindSnowflake && cmd.Flags().Changed("encoding"):
			return usage(cmd, fmt.Errorf("generator %s is of kind %s: --encoding is for kind %s", name, g.Kind, config.KindSnowflake))
		}
		ids, err := p.mint(cmd.Context(), c, name, n, encoding)
		if err != nil {
			return err
		}
		return out.answer(map[string][]string{"ids": ids}, strings.Join(ids, "\n")+"\n")
	}
	return cmd
}

// mint returns the texts of n new ids. For a holder of a worker id it prints the waits instead of the log.
func (p program) mint(ctx context.Context, c config.Config, name string, n int, e decode.Encoding) ([]string, error) {
	m, g := daemon.Minting{Config: p.builtin(c)}, c.Generators[name]
	if g.Kind == builtin.KindOpaque {
		g = c.Generators[g.Settings["of"]]
	}
	var last atomic.Pointer[fence.Waiting]
	if at := c.ShowStore(c.StoresOf(g)[0]); g.Fenced() {
		m.Logger = nil
		m.Opening = func() (done func()) { return p.awaiting("the store " + at) }
		m.Left = func(err error) { p.warn(text.Message(err)) }
		m.OnWait = func(w fence.Waiting) {
			last.Store(&w)
			p.note("%s; Ctrl-C ends it", w)
		}
		m.OnMade = func(l snowfence.Layout) { p.note("made a new namespace %q in %s: layout %s", g.Namespace, at, l) }
	}
	batch, err := daemon.Mint(ctx, m, name, n)
	if err != nil {
		if w := last.Load(); ctx.Err() != nil && w != nil {
			p.note("it was still %s", w)
		}
		return nil, unavailable(err)
	}
	texts := make([]string, 0, n)
	for _, id := range batch.Numbers() {
		texts = append(texts, e.Text(id))
	}
	if len(texts) == 0 {
		for id := range batch.Texts() {
			texts = append(texts, string(id))
		}
	}
	return texts, nil
}

// builtin returns the configuration of generators in this process.
func (p program) builtin(c config.Config) builtin.Config {
	return builtin.Config{Settings: c, Clock: p.clock, Process: p.process(), Logger: p.logger(c.Log.Format, c.Log.Level)}
}
