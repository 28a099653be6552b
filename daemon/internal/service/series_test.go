package service

import (
	"context"
	"iter"
	"testing"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// listed is a series of one number, and tests use its audit alone.
type listed struct {
	kind.Minter
	kind.Series
}

func (l listed) Caps() kind.Caps { return kind.Caps{Series: l} }

func (listed) Form() kind.Form { return kind.Text }

func (listed) Audit(context.Context, string) iter.Seq2[kind.Entry, error] {
	return func(yield func(kind.Entry, error) bool) { yield(kind.Entry{Number: 1}, nil) }
}

func TestThirdAuditAtATimeIsRefused(t *testing.T) {
	s := serving(t, listed{})
	begin := func() (end func(), err error) {
		u, err := anybody(s).Use("a")
		if err != nil {
			t.Fatal(err)
		}
		of, err := u.Series()
		if err != nil {
			t.Fatal(err)
		}
		next, end := iter.Pull2(of.Audit(t.Context(), ""))
		_, err, _ = next()
		return end, err
	}
	refused := func() {
		t.Helper()
		end, err := begin()
		end()
		if p := problemOf(t, err); p.Type != front.RateLimited || p.RetryAfter == 0 {
			t.Errorf("%v, again after %s", p, p.RetryAfter)
		}
	}
	var ends []func()
	for range maxAudits {
		end, err := begin()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	refused()
	refused()
	ends[0]()
	end, err := begin()
	if err != nil {
		t.Errorf("after the end of one: %v", err)
	}
	refused()
	end()
	ends[1]()
}
