package roster

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Summary is one namespace of a store, in short.
type Summary struct {
	Name    string
	Record  stored.Namespace
	Layout  snowfence.Layout // of the record
	Err     error            // why the record can't be read, or that there is none; nil if it can
	Workers int64            // registers of worker ids
	Held    int64            // of these, with a holder whose bound is ahead of now
}

// Namespaces lists the namespaces of a store by name. It reads every register of the store once. An error is
// returned when the store's list fails.
func Namespaces(ctx context.Context, s store.Store, now time.Time) ([]Summary, error) {
	found := map[string]*Summary{}
	registers := map[string][]stored.Register{}
	for entry, err := range s.List(ctx, stored.NamespacesPrefix) {
		if err != nil {
			return nil, err
		}
		name, key, _ := strings.Cut(strings.TrimPrefix(entry.Key, stored.NamespacesPrefix), "/")
		if found[name] == nil {
			found[name] = &Summary{Name: name, Err: store.ErrNotFound}
		}
		summary := found[name]
		switch {
		case entry.Key == stored.NamespaceKey(name):
			if summary.Record, summary.Err = stored.DecodeNamespace(entry.Value); summary.Err == nil {
				summary.Layout, summary.Err = snowfence.ParseLayout(summary.Record.Layout)
			}
		case strings.HasPrefix(entry.Key, stored.RegisterPrefix(name)):
			summary.Workers++
			if r, err := stored.DecodeRegister(entry.Value); err == nil && r.Holder != "" {
				registers[name] = append(registers[name], r)
			}
		case key == "":
			delete(found, name) // no namespace's key
		}
	}
	for name, held := range registers {
		for _, r := range held {
			if l := found[name].Layout; !l.IsZero() && l.TimeOf(r.Until).After(now) {
				found[name].Held++
			}
		}
	}
	all := make([]Summary, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[name])
	}
	return all, nil
}

// Capacity is how many worker ids the store may give away in the namespace.
func (s Summary) Capacity() int64 {
	if len(s.Record.Datacenters) == 0 {
		return s.Layout.Workers()
	}
	return int64(len(s.Record.Datacenters)) << s.Layout.Bits(snowfence.Worker)
}
