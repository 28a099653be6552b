package storeclient

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/store"
)

func TestLifeEndsOnceAndEndsWhatIsBoundToIt(t *testing.T) {
	l, failure := Begin(), errors.New("released")
	if err := l.Usable(t.Context()); err != nil || l.Ended() {
		t.Errorf("at its begin: %v", err)
	}
	bound, cancel := l.Bound(t.Context())
	defer cancel()
	if err := l.End(func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("the first end: %v", err)
	}
	if err := l.End(func() error { t.Error("released twice"); return failure }); err != nil {
		t.Errorf("the second end: %v", err)
	}
	<-bound.Done()
	<-l.Context().Done()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), ended} {
		if err := l.Usable(ctx); !errors.Is(err, store.ErrClosed) {
			t.Errorf("after its end: %v", err)
		}
	}
	if err := Begin().Usable(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func TestCallReturnsWithItsContextAndWithTheLife(t *testing.T) {
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		answer error
		end    func(l *Life, cancel context.CancelFunc)
		want   error
	}{
		"an answer":                         {nil, func(*Life, context.CancelFunc) {}, nil},
		"an error":                          {refused, func(*Life, context.CancelFunc) {}, refused},
		"an error at the end of a life":     {refused, func(l *Life, _ context.CancelFunc) { _ = l.End(nil) }, store.ErrClosed},
		"an error at the end of a context":  {refused, func(_ *Life, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"no answer at the end of a life":    {nil, func(l *Life, _ context.CancelFunc) { _ = l.End(nil); select {} }, store.ErrClosed},
		"no answer at the end of a context": {nil, func(_ *Life, cancel context.CancelFunc) { cancel(); select {} }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			l := Begin()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got, err := Call(ctx, l, func() (int, error) {
				test.end(l, cancel)
				return 7, test.answer
			})
			if !errors.Is(err, test.want) || test.want == nil && got != 7 {
				t.Errorf("%d, %v", got, err)
			}
		})
	}
}

func TestEndpointThatDoesNotAnswerLosesItsTurn(t *testing.T) {
	var turns Turns
	away, cut, refused := errors.New("away"), errors.New("cut off"), errors.New("refused")
	outcome := func(err error) Outcome {
		switch {
		case errors.Is(err, away):
			return Unsent
		case errors.Is(err, cut):
			return Unknown
		}
		return Answered
	}
	for i, step := range []struct {
		answers map[string]error
		tried   string
		want    []error
	}{
		{nil, "a", nil},
		{map[string]error{"a": away}, "ab", nil},
		{nil, "b", nil}, // it served last
		{map[string]error{"b": refused}, "b", []error{refused}},
		{map[string]error{"b": cut}, "b", []error{cut}}, // never sent to another
		{map[string]error{"c": away, "a": away, "b": away}, "cab", []error{away}},
		{map[string]error{"c": away, "a": cut}, "ca", []error{away, cut}},
		{nil, "b", nil},
	} {
		tried := ""
		_, err := InTurn(&turns, []string{"a", "b", "c"}, func(endpoint string) (int, error) {
			tried += endpoint
			return 0, step.answers[endpoint]
		}, outcome)
		if tried != step.tried || (err != nil) != (step.want != nil) {
			t.Errorf("step %d: tried %s, %v; want %s", i, tried, err, step.tried)
		}
		for _, want := range step.want {
			if !errors.Is(err, want) {
				t.Errorf("step %d: %v, want %v", i, err, want)
			}
		}
	}
}

func TestOthersAreAskedForAMomentMoreThanTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, quick string) (time.Duration, int) {
			var answered atomic.Int32
			begun := time.Now()
			AskAll(ctx, []string{"a", "b", "c"}, func(ctx context.Context, _ int, endpoint string) bool {
				if !strings.Contains(quick, endpoint) {
					<-ctx.Done()
					return false
				}
				answered.Add(1)
				return true
			})
			return time.Since(begun), int(answered.Load())
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if took, _ := ask(short, ""); took != time.Second/2 {
			t.Errorf("half of the context's time is %s", took)
		}
		for quick, want := range map[string]time.Duration{"abc": 0, "b": othersLimit, "": askLimit} {
			if took, answered := ask(t.Context(), quick); took != want || answered != len(quick) {
				t.Errorf("%q: %d after %s, want %s", quick, answered, took, want)
			}
		}
	})
}

func TestOpenerMakesOneAttemptAndAnotherWhenItNoLongerWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works, refused := true, errors.New("refused")
		var begun atomic.Int32
		var failure error
		o := &Opener[int]{
			Life: Begin(), Limit: time.Minute, Works: func(int) bool { return works },
			Open: func(context.Context) (int, error) {
				n := begun.Add(1)
				<-time.After(2 * time.Second)
				return int(n), failure
			},
		}
		get := func(limit time.Duration) (int, error) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			return o.Get(ctx)
		}
		if _, ok := o.Value(); ok {
			t.Error("it is open before it was opened")
		}
		for range 2 {
			if _, err := get(time.Second / 2); !errors.Is(err, context.DeadlineExceeded) || begun.Load() != 1 {
				t.Errorf("a short call: %v, attempt %d", err, begun.Load())
			}
		}
		for range 2 {
			if got, err := get(time.Minute); got != 1 || err != nil {
				t.Errorf("%d, %v", got, err)
			}
		}
		works, failure = false, refused
		if _, err := get(time.Minute); !errors.Is(err, refused) || begun.Load() != 2 {
			t.Errorf("another attempt: %v, attempt %d", err, begun.Load())
		}
		if _, err := get(time.Second); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, refused) {
			t.Errorf("a short call does not report why the attempt before failed: %v", err)
		}
		if err := o.Life.End(nil); err != nil {
			t.Error(err)
		}
		o.Wait()
		if _, err := get(time.Minute); !errors.Is(err, store.ErrClosed) || begun.Load() != 3 {
			t.Errorf("after the end: %v, attempt %d", err, begun.Load())
		}
	})
}

func TestTokenIsReadAsItWasWritten(t *testing.T) {
	drawn, err := DrawToken(bytes.NewReader([]byte("sixteen bytes...")))
	if err != nil || drawn.String() != "7369787465656e2062797465732e2e2e" {
		t.Errorf("%s, %v", drawn, err)
	}
	if _, err := DrawToken(strings.NewReader("too short")); err == nil {
		t.Error("a token of too few bytes")
	}
	one, oneErr := DrawToken(nil)
	other, otherErr := DrawToken(nil)
	if err := errors.Join(oneErr, otherErr); err != nil || one == other {
		t.Errorf("%s and %s, %v", one, other, err)
	}
	if got, ok := ParseToken(drawn.String()); !ok || got != drawn {
		t.Errorf("%s, %t", got, ok)
	}
	for _, text := range []string{"", "7369", drawn.String() + "00", strings.ToUpper(drawn.String()), strings.Repeat("x", TokenDigits)} {
		if _, ok := ParseToken(text); ok {
			t.Errorf("%q is taken for a token", text)
		}
	}
}

func TestListYieldsItsErrorLastAndNothingAfterItsEnd(t *testing.T) {
	failure := errors.New("failure")
	read := func(yield func(store.Entry) bool) error {
		for _, key := range []string{"a", "b", "c"} {
			if !yield(store.Entry{Key: key}) {
				return failure // dropped
			}
		}
		return failure
	}
	var keys []string
	for e, err := range List("", read) {
		if err != nil && !errors.Is(err, failure) {
			t.Error(err)
		}
		keys = append(keys, e.Key)
	}
	if !slices.Equal(keys, []string{"a", "b", "c", ""}) {
		t.Errorf("%q", keys)
	}
	for e, err := range List("", read) {
		if err != nil || e.Key != "a" {
			t.Errorf("%q, %v", e.Key, err)
		}
		break
	}
	for _, err := range List("UPPER", read) {
		var wrong *store.KeyError
		if !errors.As(err, &wrong) {
			t.Errorf("an invalid prefix: %v", err)
		}
	}
}

func TestPagesAreReadUntilOneIsShort(t *testing.T) {
	keys, failure := []string{"a", "b", "c", "d"}, errors.New("failure")
	for name, test := range map[string]struct {
		size, stop int // after so many entries the body breaks
		fails      string
		want, asks string
	}{
		"a short page at the end": {3, 9, "none", "abcd", " c"},
		"full pages":              {2, 9, "none", "abcd", " bd"},
		"a break":                 {2, 1, "none", "a", " "},
		"an error":                {2, 9, "b", "ab!", " b"},
	} {
		got, asks := "", ""
		for e, err := range ListPages("", test.size, func(after string) ([]store.Entry, error) {
			asks += cmp.Or(after, " ")
			if after == test.fails {
				return nil, failure
			}
			var page []store.Entry
			for _, key := range keys {
				if key > after && len(page) < test.size {
					page = append(page, store.Entry{Key: key})
				}
			}
			return page, nil
		}) {
			if err != nil {
				e.Key = "!"
			}
			if got += e.Key; len(got) == test.stop {
				break
			}
		}
		if got != test.want || asks != test.asks {
			t.Errorf("%s: %q by pages after %q, want %q after %q", name, got, asks, test.want, test.asks)
		}
	}
}
