package service

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/token"
)

// Client is a [front.Client].
type Client struct {
	service *Service
	limit   *rate.Limiter // of the address, or nil
	guesses *rate.Limiter // of wrong tokens from the address, or nil
	grant   *token.Grant  // nil before a valid token was shown
	shown   bool          // a token, valid or not
	guessed bool          // a token that was looked at, and was wrong
	trusted bool
	address netip.Addr
	request Use // the last one; it stands here so that nothing is allocated
}

// Client implements [front.Service].
func (s *Service) Client(address netip.Addr) front.Client {
	c := &Client{service: s, address: address}
	if s.addresses != nil {
		n := s.addresses.neighbour(front.Neighbours(address))
		c.limit, c.guesses = n.ids, n.guesses
	}
	return c
}

// Authorize implements [front.Client].
func (c *Client) Authorize(text string) error {
	if !c.service.Guarded() {
		return nil
	}
	c.shown, c.guessed = text != "", false
	if c.guesses != nil && c.guesses.TokensAt(c.now()) < 1 {
		return c.refuse()
	}
	c.grant = c.service.tokens.Grant(token.HashOf(text))
	if c.grant != nil {
		return nil
	}
	if c.guessed = c.shown; c.guessed {
		c.service.wrong.note(c.address)
	}
	return c.refuse()
}

// Who implements [front.Client].
func (c *Client) Who() any {
	if c.grant != nil {
		return c.grant
	}
	return front.Neighbours(c.address)
}

// Guessed implements [front.Client].
func (c *Client) Guessed() bool { return c.guessed }

// Trust implements [front.Client].
func (c *Client) Trust() { c.trusted = true }

// Trusted implements [front.Client].
func (c *Client) Trusted() bool { return c.trusted }

// Admit implements [front.Client].
func (c *Client) Admit(name string) error {
	_, err := c.admit(name)
	return err
}

// admit returns the generator of a name, or nil for an unknown name.
func (c *Client) admit(name string) (*generator, error) {
	if err := c.known(); err != nil {
		return nil, err
	}
	g := c.service.generators[name]
	if c.grant != nil && len(c.grant.Generators) > 0 {
		return g, c.permit(g, name)
	}
	return g, nil
}

// permit returns a [*front.Problem] unless a generator of this name exists and the token is for it. The
// problem keeps it secret whether another generator has the name.
func (c *Client) permit(g *generator, name string) error {
	own := name
	if g != nil {
		own = g.name // tokens name generators, not aliases
	}
	allowed := c.Allows(own)
	if g != nil && allowed {
		return nil
	}
	others := func(name string) bool { return !c.Allows(name) }
	names := strings.Join(slices.DeleteFunc(c.service.settings.Names(), others), ", ")
	limit := "the token allows " + cmp.Or(names, "none of this server")
	if allowed {
		return c.problem(nil, front.UnknownGenerator.Field("generator", name, limit))
	}
	return c.problem(g, front.NotAllowed.Field("generator", name, limit))
}

// Allows implements [front.Client].
func (c *Client) Allows(name string) bool { return c.grant == nil || c.grant.Allows(name) }

// ReadMetrics implements [front.Client].
func (c *Client) ReadMetrics() error {
	if err := c.known(); err != nil {
		return err
	}
	if c.grant != nil && !c.grant.ReadsMetrics() {
		return c.problem(nil, &front.Problem{Type: front.NotAllowed, Detail: "the metrics are of all generators: the token must allow all, or be one for metrics (generators=-)"})
	}
	return nil
}

// known returns a [*front.Problem] if clients need a token, and this client has not shown a token that
// is still valid.
func (c *Client) known() error {
	if c.stranger() {
		return c.problem(nil, c.unknown()) // no guess: Authorize has counted the token, if there was one
	}
	return nil
}

// stranger reports whether known is an error. It counts no refusal.
func (c *Client) stranger() bool {
	if !c.service.Guarded() || c.trusted {
		return false
	}
	if c.grant != nil {
		c.grant = c.service.tokens.Now(c.grant)
	}
	return c.grant == nil
}

// refuse is the problem of a client that shows a wrong token. It counts as a guess.
func (c *Client) refuse() error {
	if wait, ok := c.take(c.guesses, 1); !ok {
		p := limited(wait)
		p.Detail = "too many requests without a valid token came from this address"
		return c.problem(nil, p)
	}
	return c.problem(nil, c.unknown())
}

func (c *Client) unknown() *front.Problem {
	detail := "the request shows no token"
	if c.shown {
		detail = "the token is not known"
	}
	return &front.Problem{Type: front.InvalidToken, Detail: detail}
}

// pay takes n ids from the rates of the token and the address. The generator may be nil.
func (c *Client) pay(g *generator, n int) error {
	n = max(n, 1) // a count below is refused, and must not give anything back
	// The token's first: a request that it refuses must not cost others of the same address.
	limits := c.limits()
	for i, limit := range limits {
		if wait, ok := c.take(limit, n); !ok {
			c.giveBack(limits[:i], n)
			return c.problem(g, limited(wait))
		}
	}
	return nil
}

// giveBack gives ids back that [Client.take] took.
func (c *Client) giveBack(limits []*rate.Limiter, n int) {
	for _, limit := range limits {
		if limit != nil {
			limit.ReserveN(c.now(), -min(n, limit.Burst()))
		}
	}
}

// maxDebt is the most that a client can owe, in seconds of its rate: a day.
const maxDebt = 24 * 60 * 60

// settle charges a request that paid for n ids for the used ones, and for one at least. It gives the
// rest back. A request may use more ids than a rate holds at once. The client owes these, and must wait
// for more ids until it has paid.
func (c *Client) settle(n, used int) {
	n, used = max(n, 1), max(used, 1)
	for _, limit := range c.limits() {
		if limit == nil {
			continue
		}
		left := used - min(n, limit.Burst())
		if left < 0 {
			limit.ReserveN(c.now(), left)
		}
		for second := 0; second < maxDebt && left > 0; second++ {
			limit.ReserveN(c.now(), min(left, limit.Burst()))
			left -= limit.Burst()
		}
	}
}

// limits are the rates of the client's token and its address. Each may be nil.
func (c *Client) limits() [2]*rate.Limiter {
	if c.grant == nil {
		return [...]*rate.Limiter{nil, c.limit}
	}
	return [...]*rate.Limiter{c.grant.Limiter(), c.limit}
}

// now is the time by which rates are counted.
func (c *Client) now() time.Time { return time.Unix(0, 0).Add(c.service.clock.Monotonic()) }

// take takes n from a limit, or returns when they could be taken. Of more than the limit holds at once
// it takes as many as that.
func (c *Client) take(limit *rate.Limiter, n int) (wait time.Duration, ok bool) {
	if limit == nil {
		return 0, true
	}
	now := c.now()
	n = min(n, limit.Burst())
	if limit.AllowN(now, n) {
		return 0, true
	}
	// A cancelled reservation would not give all of it back when others hold reservations, too.
	missing := (float64(n) - limit.TokensAt(now)) / float64(limit.Limit())
	return max(time.Duration(missing*float64(time.Second)), time.Millisecond), false
}

func limited(wait time.Duration) *front.Problem {
	return &front.Problem{Type: front.RateLimited, Detail: "more ids are asked for than one client may have in a second", RetryAfter: wait}
}

// Now implements [front.Client].
func (c *Client) Now() time.Time { return c.service.clock.Wall() }

// Statuses implements [front.Client].
func (c *Client) Statuses() ([]front.Status, error) {
	if c.stranger() {
		return nil, c.unknown() // a probe of health asks, too, and it is answered
	}
	return slices.DeleteFunc(c.service.Statuses(), func(s front.Status) bool { return !c.Allows(s.Name) }), nil
}

// addresses are the rates of the addresses that asked of late.
type addresses struct {
	rate int

	mu         sync.Mutex // guards neighbours
	neighbours map[netip.Prefix]*neighbour
}

// neighbour is what one address, or one /64, may do in a second.
type neighbour struct {
	ids     *rate.Limiter
	guesses *rate.Limiter // of tokens; requests with a right token take nothing from it
}

// maxAddresses is how many addresses are remembered: some 30 MB. When there are more, all are
// forgotten, which lets each of them burst once more.
const maxAddresses = 100_000

func (a *addresses) neighbour(of netip.Prefix) *neighbour {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.neighbours[of]
	if n == nil {
		if len(a.neighbours) >= maxAddresses {
			clear(a.neighbours)
		}
		n = &neighbour{rate.NewLimiter(rate.Limit(a.rate), a.rate), rate.NewLimiter(rate.Limit(a.rate), a.rate)}
		a.neighbours[of] = n
	}
	return n
}
