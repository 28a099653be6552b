package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/decode"
)

// maxNext is the most ids of one run: they are in memory before the first is printed.
const maxNext = 10_000_000

func (p program) next() *cobra.Command {
	n := 1
	encoding := decode.Decimal
	var generator, show string
	cmd := &cobra.Command{
		Use:   "next",
		Short: "Print new ids, no daemon needed",
		Long: `Next claims a worker id in the store, mints ids, gives the worker id back and
prints the ids, in increasing order. It needs no daemon and no configuration,
and disturbs no daemon on the same store: each has a worker id of its own.
A generator of another kind counts on, beside its daemon. One of kind opaque
shows new ids of the generator behind it, or by --show ids that exist.

Nothing is printed unless all ids were minted. -o json prints {"ids":["…"]}.`,
		Example: `  snowfence next
  snowfence next -n 10 -o json
  snowfence next --encoding base62
  snowfence next --namespace orders --layout twitter
  snowfence next --config snowfence.yaml -g invoices -n 3
  snowfence next --config snowfence.yaml -g public-order --show "17 18"`,
	}
	f := outputFlag(cmd)
	cmd.Flags().VarP(numberFlag(&n, "1", 1, maxNext), "count", "n", "how many ids")
	encodingFlag(cmd, &encoding, "encoding of the ids: %s")
	cmd.Flags().VarP(textFlag(&generator, "NAME"), "generator", "g", "generator of the configuration (default: the one named default, or the only one)")
	cmd.Flags().Var(textFlag(&show, "ID..."), "show", "ids that exist, in place of new ones, for kind opaque")
	s := settingFlags(cmd, "store", "namespace", "layout", "data", config.KeyMustExist)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		name, g, err := chooseGenerator(c, generator)
		if err != nil {
			return usage(cmd, err)
		}
		if store := c.StoresOf(g)[0]; builtin.OnStore(g.Kind) && engine.Private(store) {
			p.warn("the store " + store + " is of this process alone: these ids differ from each other, but perhaps not from any others")
		}
		if err := p.needsOutput("the ids"); err != nil {
			return err
		}
		ids, shows := strings.Fields(show), cmd.Flags().Changed("show")
		switch {
		case g.Kind == kindSeries:
			return usage(cmd, fmt.Errorf("generator %s: %w: see 'snowfence series'", name, builtin.ErrReserve))
		case shows && g.Kind != kindOpaque:
			return usage(cmd, fmt.Errorf("generator %s is of kind %s: --show is for kind %s", name, g.Kind, kindOpaque))
		case shows && (len(ids) == 0 || cmd.Flags().Changed("count")):
			return usage(cmd, fmt.Errorf("--show %q: must name ids that exist, and --count is for new ones", show))
		case g.Kind != config.KindSnowflake && cmd.Flags().Changed("encoding"):
			return usage(cmd, fmt.Errorf("generator %s is of kind %s: --encoding is for kind %s", name, g.Kind, config.KindSnowflake))
		case g.Kind == kindOpaque:
			texts, err := p.show(cmd.Context(), c, name, ids, n)
			if err != nil {
				return err
			}
			return p.printTexts(*f, texts)
		case g.Kind != config.KindSnowflake:
			texts, err := p.mintTexts(cmd.Context(), c, name, n)
			if err != nil {
				return err
			}
			return p.printTexts(*f, texts)
		}
		minted, layout, err := p.mint(cmd.Context(), c, g, n)
		if err != nil {
			return err
		}
		return p.printIDs(*f, encoding, layout, minted)
	}
	return cmd
}

// chooseGenerator finds a generator by name; without one, the default or the only one.
func chooseGenerator(c config.Config, name string) (string, config.Generator, error) {
	names := c.Names()
	switch {
	case name != "":
	case len(names) == 1:
		name = names[0]
	default:
		name = config.DefaultGenerator
	}
	g, ok := c.Generators[name]
	if !ok {
		return name, g, fmt.Errorf("generator %q is not configured; there are %s", name, strings.Join(names, ", "))
	}
	return name, g, nil
}

// mintTexts mints n ids of a generator that is not opaque. What is left of a segment is given back.
func (p program) mintTexts(ctx context.Context, c config.Config, name string, n int) ([]string, error) {
	switch g := c.Generators[name]; g.Kind {
	case config.KindSnowflake:
		ids, _, err := p.mint(ctx, c, g, n)
		return textsOf(decode.Decimal, ids), err
	case config.KindWide:
		return p.mintWide(ctx, c, g, n)
	}
	texts, err := p.counted(c).Mint(ctx, name, n)
	return texts, unavailable(err)
}

// counted is what the kinds that a store counts get from the program.
func (p program) counted(c config.Config) builtin.Config {
	return builtin.Config{Settings: c, Clock: p.clock, Process: daemon.Process(thisBuild().Version, p.clock.Wall()), Logger: p.logger(c.Log.Format, c.Log.Level)}
}

// printTexts prints ids that are no more than their texts.
func (p program) printTexts(f form, texts []string) error {
	if f == jsonForm {
		return p.printJSON(struct {
			IDs []string `json:"ids"`
		}{texts})
	}
	if f == tableForm {
		rows := make([][]string, len(texts))
		for i, text := range texts {
			rows[i] = []string{text}
		}
		return p.print(table("id", rows))
	}
	return p.print(strings.Join(texts, "\n") + "\n")
}

// mint mints n ids of 64 bits.
func (p program) mint(ctx context.Context, c config.Config, g config.Generator, n int) (ids []snowfence.ID, layout snowfence.Layout, err error) {
	ids = make([]snowfence.ID, n)
	err = p.hold(ctx, c, g, func(h *fence.Holder, g config.Generator) error {
		if layout = g.Layout; layout.Wide {
			return snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("namespace %q has the wide layout %s: say --layout %[2]s", g.Namespace, layout))
		}
		return inChunks(ctx, g, ids, h.Fill)
	})
	return ids, layout, err
}

// mintWide mints n ids of a wide layout, and returns their texts.
func (p program) mintWide(ctx context.Context, c config.Config, g config.Generator, n int) ([]string, error) {
	ids, texts := make([]snowfence.WideID, n), make([]string, n)
	err := p.hold(ctx, c, g, func(h *fence.Holder, g config.Generator) error { return inChunks(ctx, g, ids, h.FillWide) })
	for i, id := range ids {
		texts[i] = g.Layout.Text(id)
	}
	return texts, err
}

// hold claims a worker id, has mint mint ids with the layout that they have, and gives the worker id back. If that fails, it
// is only noted: the ids are good, and the worker id rests until its window ends.
func (p program) hold(ctx context.Context, c config.Config, g config.Generator, mint func(*fence.Holder, config.Generator) error) error {
	storeURL := c.StoresOf(g)[0]
	done := p.awaiting("the store " + c.ShowStore(storeURL))
	s, err := openstore.OpenFor(ctx, storeURL, c.StoreMustExist)
	done()
	if err != nil {
		return unavailable(err)
	}
	defer p.closing("close store: ", s.Close)
	f := g.Fence()
	f.Store, f.Existing = s, c.StoreMustExist
	f.Process = daemon.Process(thisBuild().Version, p.clock.Wall())
	f.Clock = p.clock
	var last atomic.Pointer[fence.Waiting]
	f.OnWait = func(w fence.Waiting) {
		last.Store(&w)
		p.note("%s; Ctrl-C ends it", w)
	}
	f.OnMade = func(layout snowfence.Layout) {
		p.note("made a new namespace %q in %s: layout %s", g.Namespace, c.ShowStore(storeURL), layout)
	}
	holder, err := fence.Open(ctx, f)
	if err != nil {
		if w := last.Load(); ctx.Err() != nil && w != nil {
			p.note("it was still %s", w)
		}
		return unavailable(err)
	}
	defer p.closing("", func() error {
		// Also after an interrupt: giving back is worth a moment.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		return holder.Close(ctx)
	})
	status := holder.Status()
	g.Layout, g.Policy = status.Layout, status.Policy // the namespace's, where none is configured
	return mint(holder, g)
}

// inChunks fills ids, a chunk at a time.
func inChunks[T any](ctx context.Context, g config.Generator, ids []T, fill func(context.Context, []T) error) error {
	for chunk := range slices.Chunk(ids, chunkSize(g)) {
		err := fill(ctx, chunk)
		for tries := 1; tries < 10 && errors.Is(err, snowfence.ErrSaturated); tries++ {
			err = fill(ctx, chunk) // this process was not given the processor in time
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// chunkSize is how many ids are asked for at a time: what a worker can mint in
// a quarter of the time that a call may wait.
func chunkSize(g config.Generator) int {
	wait := g.Policy.MaxWait.Seconds()
	return int(min(max(g.Layout.RatePerWorker()*wait/4, 1), 1<<16))
}

// printIDs prints ids, in a table with what they say.
func (p program) printIDs(f form, e decode.Encoding, l snowfence.Layout, ids []snowfence.ID) error {
	if f == tableForm {
		rows := make([][]string, len(ids))
		for i, id := range ids {
			r, err := decode.Decode(id, l)
			if err != nil {
				return err
			}
			rows[i] = decoded{Document: r.Document()}.row()
			rows[i][0] = e.Text(id)
		}
		return p.print(table(decodeColumns, rows))
	}
	return p.printTexts(f, textsOf(e, ids))
}

func textsOf(e decode.Encoding, ids []snowfence.ID) []string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = e.Text(id)
	}
	return texts
}
