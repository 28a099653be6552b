package builtin

import (
	"context"

	"snowfence.example/snowfence/daemon/kind"
)

// minter is the minter of most kinds: its function that mints, its end, and its further abilities.
type minter struct {
	form  kind.Form
	mint  mint
	close func(context.Context) error // nil if it holds nothing
	caps  kind.Caps
}

// mint is [kind.Minter.Mint], but for the ids that it has appended before it fails.
type mint func(ctx context.Context, n int, into *kind.Batch) error

// Form implements [kind.Minter].
func (m *minter) Form() kind.Form { return m.form }

// Mint implements [kind.Minter].
func (m *minter) Mint(ctx context.Context, n int, into *kind.Batch) error {
	had := into.Len()
	err := m.mint(ctx, n, into)
	if err != nil {
		into.Truncate(had)
	}
	return err
}

// Caps implements [kind.Capable].
func (m *minter) Caps() kind.Caps { return m.caps }

// Close implements [kind.Closer].
func (m *minter) Close(ctx context.Context) error {
	if m.close == nil {
		return nil
	}
	return m.close(ctx)
}

// filled mints ids by filling the batch's own memory, which grow makes.
func filled[ID any](grow func(*kind.Batch, int) ([]ID, error), fill func(context.Context, []ID) error) mint {
	return func(ctx context.Context, n int, into *kind.Batch) error {
		ids, err := grow(into, n)
		if err != nil {
			return err
		}
		return fill(ctx, ids)
	}
}
