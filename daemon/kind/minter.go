package kind

import (
	"context"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
)

// Minter mints the ids of one generator.
type Minter interface {
	// Form is the form of every id that this minter mints. It stays the same.
	Form() Form

	// Mint appends exactly n new ids, n being at least 1, to the batch. When it returns an error it has
	// appended nothing, and never gives out ids that it may have used up. It must not look at the ids
	// in the batch, nor keep the batch.
	//
	// Mint is safe for concurrent use with different batches. It honours the
	// context while it waits. An error that a later call may not meet should
	// wrap [ErrUnavailable].
	Mint(ctx context.Context, n int, into *Batch) error
}

// Closer is implemented by minters that hold a right or numbers, which others can use once they are
// given back.
type Closer interface {
	// Close gives the minter's holdings back. A call to Mint that is under way
	// ends first or fails, and later ones fail. Close stops early, with an
	// error, when the context ends.
	Close(ctx context.Context) error
}

// ErrUnavailable is wrapped by errors of a [Minter] that time alone may mend.
// Fronts then ask the client to come back instead of reporting a fault.
var ErrUnavailable = snowfence.NewError(snowfence.ClassUnavailable, "kind: no ids can be minted at present")

// Kind is a kind of id that a daemon can serve. It is safe for concurrent use.
type Kind interface {
	// Name is the kind's name in the configuration: lower-case letters,
	// digits and hyphens, beginning with a letter.
	Name() string

	// Configure reads the settings of one generator and returns its opener, which keeps them in the
	// kind's own types. It is called once for each generator of this kind, before anything is opened. A
	// [*SettingError] is returned for a setting that the kind does not know or can't use.
	Configure(settings map[string]string) (Opener, error)
}

// Opener opens the minter of one generator. It may wait for its store or its rights, while the daemon
// runs and reports that it is not ready. After an error the daemon calls it again, until the generator
// serves. An error of class [snowfence.ClassUsage] or [snowfence.ClassFinal] refuses the generator, and
// the daemon ends when every generator is refused.
type Opener func(ctx context.Context, spec Spec) (Minter, error)

// Spec is the daemon's part of a generator that it opens.
type Spec struct {
	// Generator is the generator's name.
	Generator string

	// Store is the store that the configuration gives the generator. It stays open until the
	// minter was closed.
	Store store.Store

	// Namespace is the namespace that the configuration gives the generator.
	// A kind that keeps registers in the store must keep them apart from other
	// kinds' by a prefix of its own, followed by the namespace.
	Namespace string
}

// SettingError is returned by a [Kind] for a setting. The daemon adds the value
// and the place where it was set.
type SettingError struct {
	// Key is the setting's name.
	Key string
	// Limit describes a valid value, or reports that the kind lacks the setting.
	Limit string
}

// Error names the setting and the limit.
func (e *SettingError) Error() string { return "kind: setting " + e.Key + ": " + e.Limit }

// Class is [snowfence.ClassUsage].
func (*SettingError) Class() snowfence.Class { return snowfence.ClassUsage }
