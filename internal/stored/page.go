package stored

import (
	"errors"
	"fmt"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
)

// maxPage is the greatest length of a page in bytes: two registers, and a
// namespace's record with its datacenters.
const maxPage = 4 * store.MaxValue

// Page is the entry of a holder's journal for its term. With it the next process on this
// machine can go on with the term while the store does not answer.
type Page struct {
	Store     string // its name, see [store.NameOf]; empty in a page of an earlier version
	Name      string // of the namespace
	Namespace Namespace
	Worker    int64 // the term's worker number

	// Version and Register are the register as it was last acknowledged.
	Version  store.Version
	Register Register

	// Usable is the bound that was acknowledged, and confirmed where the store
	// is lossy.
	Usable snowfence.Tick

	// Used lies above every tick that was stamped, or will be before the next page. A
	// resumed term begins there.
	Used snowfence.Tick

	// Pending is a write with an open outcome: the very bytes that were sent, or were
	// about to be. Nil if there was none.
	Pending []byte

	// Loss is the store's loss at that time, see store.Traits.
	Loss time.Duration

	// Age is how long before this page the register's bound was acknowledged, if it is not usable yet. Zero
	// counts as no age at all.
	Age time.Duration
}

func (p *Page) text() any {
	return &struct {
		Format    int             `json:"format"`
		Store     *optional       `json:"store,omitzero"` // earlier versions have no store
		Name      *string         `json:"name"`
		Namespace inner           `json:"namespace"`
		Worker    *int64          `json:"worker"`
		Version   *store.Version  `json:"version"`
		Register  inner           `json:"register"`
		Usable    *snowfence.Tick `json:"usable"`
		Used      *snowfence.Tick `json:"used"`
		Pending   *quoted         `json:"pending"`
		Loss      *duration       `json:"loss"`
		Age       *age            `json:"age,omitzero"` // earlier versions have no age
	}{
		format, (*optional)(&p.Store), &p.Name, inner{&p.Namespace}, &p.Worker, &p.Version, inner{&p.Register},
		&p.Usable, &p.Used, (*quoted)(&p.Pending), (*duration)(&p.Loss), (*age)(&p.Age),
	}
}

// Encode writes the page as it is kept.
func (p Page) Encode() ([]byte, error) { return encode(&p, maxPage) }

// DecodePage reads a page. An error wrapping [ErrRecord] is returned for every page that
// contradicts itself, or that this program would not have written. Such a page is never resumed from.
func DecodePage(page []byte) (Page, error) {
	var p Page
	if err := decode(page, &p, maxPage); err != nil {
		return Page{}, err
	}
	return p, nil
}

func (p *Page) check() error {
	if err := CheckNamespace(p.Name); err != nil {
		return err
	}
	r := p.Register
	switch {
	case p.Version == "":
		return errors.New("field \"version\" is empty")
	case p.Loss < 0:
		return fmt.Errorf("field \"loss\" is %s: must not be negative", p.Loss)
	case p.Age < 0:
		return fmt.Errorf("field \"age\" is %s: must not be negative", p.Age)
	case r.Holder == "" || r.Quarantined:
		return errors.New("its register has no holder, or is quarantined")
	case r.Layout != p.Namespace.Layout || r.Incarnation != p.Namespace.Incarnation:
		return fmt.Errorf("its register is of another namespace")
	case p.Usable > r.Until:
		return fmt.Errorf("field \"usable\" is %d: must be at most the register's until, %d", p.Usable, r.Until)
	case p.Used < r.Floor || p.Used > p.Usable:
		return fmt.Errorf("field \"used\" is %d: must be from the register's floor to usable, %d to %d", p.Used, r.Floor, p.Usable)
	}
	if p.Pending == nil {
		return nil
	}
	pending, err := DecodeRegister(p.Pending)
	if err != nil {
		return err
	}
	if pending.Holder != r.Holder || pending.Term != r.Term || pending.Floor != r.Floor || pending.Until < r.Until ||
		pending.Layout != r.Layout || pending.Incarnation != r.Incarnation || pending.Quarantined {
		return errors.New("field \"pending\" is no extension of its register")
	}
	return nil
}
