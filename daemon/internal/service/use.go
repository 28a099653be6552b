package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// A Use is a [front.Use]: one request of a client to one generator.
type Use struct {
	client *Client
	of     *generator
	m      *served // nil while the generator is starting
}

// Use implements [front.Client].
func (c *Client) Use(name string) (front.Use, error) {
	u, err := c.find(name)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// find finds the generator of a request.
func (c *Client) find(name string) (*Use, error) {
	g, err := c.admit(name)
	if err == nil && g == nil {
		err = c.pay(nil, 1)
	}
	switch {
	case err != nil:
		return nil, err
	case g == nil:
		return nil, c.problem(nil, front.UnknownGenerator.Field("generator", name, "must be one of "+strings.Join(c.service.settings.Names(), ", ")))
	}
	c.request = c.use(g)
	return &c.request, nil
}

func (c *Client) use(g *generator) Use { return Use{c, g, g.minter.Load()} }

// Kind implements [front.Use].
func (u *Use) Kind() string { return u.of.settings.Kind }

// Form implements [front.Use].
func (u *Use) Form() kind.Form {
	if u.m == nil {
		return 0
	}
	return u.m.Form()
}

// Most implements [front.Use].
func (u *Use) Most() int { return u.of.limit(u.m) }

// InvalidCount implements [front.Use].
func (u *Use) InvalidCount(text string) error {
	if err := u.client.pay(u.of, 1); err != nil {
		return err
	}
	return u.problem(u.countProblem(text))
}

// Mint implements [front.Use].
func (u *Use) Mint(ctx context.Context, n int, into *kind.Batch) error {
	if err := u.client.pay(u.of, n); err != nil {
		return err
	}
	err := u.mint(ctx, n, into)
	if err == nil {
		u.client.settle(n, n)
	} else if p := new(front.Problem); u.m == nil || u.m.caps.Lease != nil || errors.As(err, &p) && unasked(p.Type) {
		u.client.settle(n, 0) // other failures give nothing back: the store may have counted
	}
	return err
}

// mint is Mint without a price.
func (u *Use) mint(ctx context.Context, n int, into *kind.Batch) error {
	if err := u.ready(n); err != nil {
		return err
	}
	if u.m.caps.Series != nil {
		return u.problem(front.NeedsReservation.Plain())
	}
	had := into.Len()
	var err error
	switch {
	case u.m.of != nil:
		err = u.mintTexts(ctx, n, into)
	case u.m.maxWait > 0 && n > u.m.slice && u.m.Form() == kind.Number:
		err = u.inSlices(ctx, n, into)
	default:
		err = u.m.Mint(ctx, n, into)
	}
	if err == nil && into.Len() != had+n {
		err = fmt.Errorf("kind %s minted %d ids instead of %d", u.Kind(), into.Len()-had, n)
	} else if err == nil && into.Form() != u.m.Form() {
		err = fmt.Errorf("kind %s minted ids of the form %s instead of %s", u.Kind(), into.Form(), u.m.Form())
	}
	if err != nil {
		into.Truncate(had)
		return u.problem(u.of.classify(err))
	}
	u.count(n)
	return nil
}

// mintTexts mints ids of the other generator, and shows them as texts.
func (u *Use) mintTexts(ctx context.Context, n int, into *kind.Batch) error {
	var ids kind.Batch
	of := u.client.use(u.m.of)
	err := of.mint(ctx, n, &ids)
	for id := range ids.Texts() {
		if err == nil {
			err = u.show(string(id), into)
		}
	}
	return err
}

func (u *Use) show(id string, into *kind.Batch) error {
	text, err := u.m.caps.Shows.Show(id)
	if err != nil {
		return err
	}
	return into.AppendText([]byte(text))
}

// Show implements [front.Use].
func (u *Use) Show(id string, into *kind.Batch) error {
	if err := u.paid(); err != nil {
		return err
	}
	err := errors.New("must be left out: the generator is not opaque")
	if u.m.of != nil {
		err = u.show(id, into)
	}
	if err != nil {
		return u.problem(front.InvalidID.Field("show", id, reason(err)))
	}
	return nil
}

// Range implements [front.Use]. An increment above 1 is refused.
func (u *Use) Range(ctx context.Context, n int) (snowfence.ID, error) {
	if err := u.client.pay(u.of, n); err != nil {
		return 0, err
	}
	first, used, err := u.consecutive(ctx, n)
	u.client.settle(n, used)
	return first, err
}

// rangeTries is how often consecutive numbers are tried for. Segments are longer than most ranges,
// so the second try finds room.
const rangeTries = 3

// consecutive is Range without a price. It returns how many numbers were used up, also when it fails.
func (u *Use) consecutive(ctx context.Context, n int) (first snowfence.ID, used int, err error) {
	if err := u.ready(n); err != nil {
		return 0, 0, err
	}
	status := u.m.caps.Counter
	if status == nil || u.m.Form() != kind.Number {
		return 0, 0, u.problem(front.NotConsecutive.Plain())
	}
	// A segment may end in the middle of a batch, and the next one need not follow it. Then these
	// numbers are used up.
	var b kind.Batch
	for range rangeTries {
		if n > 1 && status().Increment > 1 {
			break // numbers are never consecutive: mint none
		}
		b.Reset()
		used += n // also if it fails: the store may have counted
		if err := u.mint(ctx, n, &b); err != nil {
			return 0, used, err
		}
		if ids := b.Numbers(); ids[n-1]-ids[0] == snowfence.ID(n-1) {
			return ids[0], used, nil
		}
	}
	return 0, used, u.problem(front.NotConsecutive.Plain())
}

// ready refuses too many ids, and returns the problem of a generator that gives none.
func (u *Use) ready(n int) error {
	if n < 1 || n > u.Most() {
		return u.problem(u.countProblem(strconv.Itoa(n)))
	}
	if p := u.of.away(u.m); p != nil {
		return u.problem(p)
	}
	return nil
}

// paid takes the price of a call that mints nothing, one id, and is ready then.
func (u *Use) paid() error {
	if err := u.client.pay(u.of, 1); err != nil {
		return err
	}
	return u.ready(1)
}

// countProblem is the problem of a number of ids that is out of range or not a number.
func (u *Use) countProblem(value string) *front.Problem {
	return front.CountOutOfRange.Field("count", value, fmt.Sprintf("must be a whole number from 1 to %d", u.Most()))
}

func (u *Use) problem(p *front.Problem) error { return u.client.problem(u.of, p) }

// count counts an answer with n ids.
func (u *Use) count(n int) {
	u.of.ids.Add(uint64(n))
	u.of.requests.Add(1)
	u.client.service.succeeded(u.of)
}
