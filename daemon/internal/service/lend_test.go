package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/lending"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/internal/lend"
)

// borrowing is a client of a service that lends eight worker ids.
func borrowing(t *testing.T, change func(*config.Config), tokens string, log *slog.Logger) *service.Service {
	t.Helper()
	c := service.Config{Settings: fronttest.Settings(t, change), Tokens: fronttest.Ring(t, tokens), Logger: log}
	return fronttest.Service(t, c, map[string]kind.Minter{"default": fronttest.NewLender(t)})
}

// use returns the generator as a client with the token uses it.
func use(t *testing.T, s *service.Service, shown string) front.Use {
	t.Helper()
	client := s.Client(netip.MustParseAddr("192.0.2.1"))
	if err := client.Authorize(shown); err != nil {
		t.Fatal(err)
	}
	u, err := client.Use("default")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// now is the clock as borrowers send it.
func now() string { return strconv.FormatInt(time.Now().UnixMilli(), 10) }

func claim(t *testing.T, u front.Use) (kind.Lent, error) {
	t.Helper()
	return u.Claim(t.Context(), kind.LeaseForm{Now: now(), Host: "a", PID: "7", Program: "billing"})
}

func isProblem(err error, want front.Type) bool {
	p := new(front.Problem)
	return errors.As(err, &p) && p.Type == want
}

func TestLendingKeepsItsShareForOthers(t *testing.T) {
	for share, want := range map[int64]int{0: 0, 50: 4, 100: 8} {
		s := borrowing(t, func(c *config.Config) {
			c.Generators = map[string]config.Generator{"default": {LendShare: &share}}
		}, "", nil)
		for range want {
			if _, err := claim(t, use(t, s, "")); err != nil {
				t.Fatal(err)
			}
		}
		_, err := claim(t, use(t, s, ""))
		if full := front.LeaseLimit; share == 100 && !isProblem(err, front.NoWorker) && !isProblem(err, full) || share < 100 && !isProblem(err, full) {
			t.Errorf("share %d: claim %d: %v", share, want+1, err)
		}
	}
}

func TestTokenLendsAsManyWorkerIDsAsItSays(t *testing.T) {
	const tokens, some = "none-0123456789abcdef", "some-0123456789abcdef"
	var log bytes.Buffer
	s := borrowing(t, func(*config.Config) {},
		"none "+token.HashOf(tokens).String()+"\nsome "+token.HashOf(some).String()+" lend=2", slog.New(slog.NewTextHandler(&log, nil)))
	if _, err := claim(t, use(t, s, tokens)); !isProblem(err, front.NotAllowed) {
		t.Errorf("a token without lend: %v", err)
	}
	var last kind.Lent
	for range 2 {
		a, err := claim(t, use(t, s, some))
		if err != nil {
			t.Fatal(err)
		}
		last = a
	}
	if _, err := claim(t, use(t, s, some)); !isProblem(err, front.LeaseLimit) {
		t.Errorf("a third claim of two: %v", err)
	}
	e := kind.LeaseForm{Now: now(), Lease: last.Lease, Mark: "00000000000000a1"}
	if _, err := use(t, s, some).Extend(t.Context(), e); err != nil {
		t.Errorf("an extension at the limit: %v", err)
	}
	if _, err := use(t, s, tokens).Extend(t.Context(), e); !isProblem(err, front.NotAllowed) {
		t.Errorf("an extension by a token without lend: %v", err)
	}
	if err := use(t, s, some).Release(t.Context(), kind.LeaseForm{Lease: last.Lease, Mark: "00000000000000a2"}); !isProblem(err, front.LeaseMoved) {
		t.Errorf("a release by the lease before the extension: %v", err)
	}
	e.Mark = "00000000000000a1" // a retry has the extended lease again
	if last, _ = use(t, s, some).Extend(t.Context(), e); use(t, s, some).Release(t.Context(), kind.LeaseForm{Lease: last.Lease, Mark: "00000000000000a2"}) != nil {
		t.Error("the extended lease can't be released")
	}
	if given := fmt.Sprintf("given back\" generator=default worker=%d ", last.Worker); !strings.Contains(log.String(), given) {
		t.Errorf("the log has no %q:\n%s", given, &log)
	}
	if text := log.String(); strings.Count(text, "audit: a worker id is lent") != 2 || !strings.Contains(text, "token=some") || strings.Contains(text, last.Lease) {
		t.Errorf("the log:\n%s", text)
	}
}

func TestRefusedBorrowersFillNoLog(t *testing.T) {
	var log bytes.Buffer
	s := borrowing(t, func(*config.Config) {}, "", slog.New(slog.NewTextHandler(&log, nil)))
	long := strings.Repeat("x", 4<<10)
	for range 100 {
		if _, err := use(t, s, "").Claim(t.Context(), kind.LeaseForm{Now: "soon", Host: long, PID: long, Program: long}); !isProblem(err, front.InvalidLease) {
			t.Fatal(err)
		}
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || len(text) > 2<<10 {
		t.Errorf("the log has %d lines of %d bytes: %.2000s", strings.Count(text, "\n"), len(text), text)
	}
	for i := range 9 { // of eight, the half of which may be lent
		if _, err := claim(t, use(t, s, "")); i >= 4 && !isProblem(err, front.LeaseLimit) {
			t.Fatal(err)
		}
	}
	if text := log.String(); strings.Count(text, "problem=lease-limit") != 1 || strings.Count(text, "is lent") != 4 {
		t.Errorf("problems of another type: %s", text)
	}
}

// slowLender answers its first claim when the test lets it, and then with an error.
type slowLender struct {
	kind.Lender
	claims atomic.Int32
	begun  chan struct{}
	ends   chan struct{}
}

func (l *slowLender) Claim(ctx context.Context, f kind.LeaseForm) (kind.Lent, error) {
	if l.claims.Add(1) == 1 {
		close(l.begun)
		<-l.ends
		return kind.Lent{}, lend.ErrUnavailable
	}
	return l.Lender.Claim(ctx, f)
}

// slow is a minter with a slow lender.
type slow struct {
	*fronttest.Lender
	lender *slowLender
}

func (s slow) Caps() kind.Caps {
	return kind.Caps{Lend: func() (kind.Lender, error) { return s.lender, nil }}
}

func TestClaimsUnderWayCountAtTheLimit(t *testing.T) {
	inner := fronttest.NewLender(t)
	l := &slowLender{Lender: lending.Lender{Lender: inner.Lender}, begun: make(chan struct{}), ends: make(chan struct{})}
	const shown = "some-0123456789abcdef"
	c := service.Config{Settings: fronttest.Settings(t), Tokens: fronttest.Ring(t, "some "+token.HashOf(shown).String()+" lend=1")}
	s := fronttest.Service(t, c, map[string]kind.Minter{"default": slow{inner, l}})
	first := make(chan error, 1)
	u := use(t, s, shown)
	go func() {
		_, err := u.Claim(t.Context(), kind.LeaseForm{Now: now()})
		first <- err
	}()
	<-l.begun
	if _, err := claim(t, use(t, s, shown)); !isProblem(err, front.LeaseLimit) {
		t.Errorf("a second claim beside the first: %v, want lease-limit", err)
	}
	close(l.ends)
	if err := <-first; !isProblem(err, front.StoreUnavailable) {
		t.Errorf("the first claim: %v", err)
	}
	if _, err := claim(t, use(t, s, shown)); err != nil {
		t.Errorf("a claim after one that failed: %v", err)
	}
}

func TestClaimCostsAThousandIDs(t *testing.T) {
	s := borrowing(t, func(c *config.Config) { c.Limits.AddressRate = 1500 }, "", nil)
	if _, err := claim(t, use(t, s, "")); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(t, use(t, s, "")); !isProblem(err, front.RateLimited) {
		t.Errorf("the second claim of a second: %v", err)
	}
}

func TestClaimOfAClientThatHungUpIsGivenBack(t *testing.T) {
	s := borrowing(t, func(*config.Config) {}, "", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := use(t, s, "").Claim(ctx, kind.LeaseForm{Now: now()})
	if !isProblem(err, front.StoreUnavailable) && !isProblem(err, front.RequestCancelled) {
		t.Errorf("the claim: %v", err)
	}
}
