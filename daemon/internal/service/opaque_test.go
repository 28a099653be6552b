package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/internal/decode"
)

// dashed shows the ids of a generator with a dash before them.
type dashed struct{ of string }

func (d dashed) Caps() kind.Caps { return kind.Caps{Shows: d} }

func (dashed) Form() kind.Form { return kind.Text }
func (dashed) Mint(context.Context, int, *kind.Batch) error {
	return errors.New("is not asked to mint")
}
func (d dashed) Of() string                   { return d.of }
func (dashed) Show(id string) (string, error) { return "-" + id, nil }

func (dashed) Read(text string) (string, error) {
	if id, ok := strings.CutPrefix(text, "-"); ok {
		return id, nil
	}
	return "", &snowfence.IDError{Form: "dashed", Text: text, Reason: "has no dash"}
}

// showing returns a service whose generators "a", "count", "session" and "wide" have a minter, or
// are starting where it is nil. "show-a" shows the ids of "a", and so on.
func showing(t testing.TB, m kind.Minter) *Service {
	t.Helper()
	c := config.Default()
	c.Store = "mem:"
	c.Generators = map[string]config.Generator{"a": {}, "count": {Kind: "segment"}, "session": {Kind: "uuid"}, "wide": {Kind: "wide", Namespace: "wide"}}
	for _, of := range c.Names() {
		c.Generators["show-"+of] = config.Generator{Kind: "opaque"}
	}
	c, err := c.Complete("opaque", "segment", "uuid")
	if err != nil {
		t.Fatal(err)
	}
	s := serving(t, m, func(of *Config) {
		of.Settings, of.Formats = c, map[string]decode.Format{"segment": decode.Number, "uuid": decode.UUID}
	})
	for _, name := range c.Names() {
		if of, ok := strings.CutPrefix(name, "show-"); ok {
			if err := s.Serve(name, dashed{of}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func statusOf(s *Service, name string) front.Status {
	all := s.Statuses()
	return all[slices.IndexFunc(all, func(status front.Status) bool { return status.Name == name })]
}

func TestOpaqueGeneratorShowsNewIDsOfTheOther(t *testing.T) {
	s := showing(t, new(counting))
	var b kind.Batch
	for range 2 {
		if err := askFor(anybody(s), "show-a", 2, &b); err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for text := range b.Texts() {
		texts = append(texts, string(text))
	}
	if want := []string{"-0", "-1", "-2", "-3"}; !slices.Equal(texts, want) {
		t.Errorf("texts are %q, want %q", texts, want)
	}
	for _, name := range []string{"a", "show-a"} {
		if status := statusOf(s, name); status.IDs != 4 || status.Requests != 2 {
			t.Errorf("%s: counted %d ids in %d requests, want 4 in 2", name, status.IDs, status.Requests)
		}
	}
}

func TestOpaqueGeneratorHasTheProblemsOfTheOther(t *testing.T) {
	failing := &counting{err: counter.ErrUnavailable, ready: kind.ErrUnavailable}
	for name, test := range map[string]struct {
		minter kind.Minter
		n      int
		mint   front.Type
		status front.Type
	}{
		"starting": {nil, 1, front.Starting, front.Starting},
		"failing":  {failing, 1, front.StoreUnavailable, front.LeaseUnavailable},
		"too many": {new(counting), 10_001, front.CountOutOfRange, front.Types},
		"short":    {&counting{short: true}, 1, front.Internal, front.Types},
	} {
		s := showing(t, test.minter)
		var b kind.Batch
		if refused(t, name, askFor(anybody(s), "show-a", test.n, &b), test.mint); b.Len() != 0 {
			t.Errorf("%s: %d ids", name, b.Len())
		}
		status := statusOf(s, "show-a")
		if status.Problems[test.mint] != 1 {
			t.Errorf("%s: counted %v", name, status.Problems)
		}
		switch {
		case test.status == front.Types:
			if status.Problem != nil {
				t.Errorf("%s: the status is %v", name, status.Problem)
			}
		case status.Problem == nil || status.Problem.Type != test.status:
			t.Errorf("%s: the status is %v, want %s", name, status.Problem, test.status)
		}
	}
}

// A count that the opaque generator refuses is not the other's problem.
func TestOpaqueGeneratorHasTheSmallerLimit(t *testing.T) {
	s := showing(t, &few{})
	var b kind.Batch
	for _, err := range []error{askFor(anybody(s), "show-a", 101, &b), ask(anybody(s), "show-a", func(u front.Use) error { return u.InvalidCount("x") })} {
		if p := refused(t, "too many", err, front.CountOutOfRange); !strings.HasSuffix(p.Limit, " 100") || b.Len() != 0 {
			t.Errorf("%v, and %d ids", p, b.Len())
		}
	}
	if problems := statusOf(s, "a").Problems[front.CountOutOfRange]; problems != 0 {
		t.Errorf("the other has %d problems", problems)
	}
	if err := askFor(anybody(s), "show-a", 100, &b); err != nil || b.Len() != 100 {
		t.Errorf("%d ids, %v", b.Len(), err)
	}
}

func TestIDsThatExistAreShownByOpaqueGeneratorsAlone(t *testing.T) {
	s := showing(t, new(counting))
	var b kind.Batch
	show := func(generator, id string) error {
		return ask(anybody(s), generator, func(u front.Use) error { return u.Show(id, &b) })
	}
	if err := show("show-a", "7"); err != nil || string(b.AppendID(nil, 0)) != "-7" {
		t.Errorf("shown as %s, %v", b.AppendID(nil, 0), err)
	}
	refused(t, "no generator", show("show-b", "7"), front.UnknownGenerator)
	refused(t, "another kind", show("a", "7"), front.InvalidID)
	refused(t, "no id", show("show-a", "a text that is\nno id"), front.InvalidID)
	s.Stop()
	if refused(t, "at the end", show("show-a", "7"), front.Stopped); b.Len() != 1 {
		t.Errorf("%d ids, want 1", b.Len())
	}
}

func TestIDIsDecodedAsOneOfItsGenerator(t *testing.T) {
	const uuid7, uuid8 = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "01890a5d-ac96-874b-8000-0c0000000001"
	s := showing(t, new(counting))
	for _, test := range []struct{ generator, text, id, of string }{
		{"a", "0000000000000000001", "1", "a"},
		{"show-a", "-1", "1", "a"},
		{"count", "7", "7", "count"},
		{"show-count", "-7", "7", "count"},
		{"session", uuid7, uuid7, "session"},
		{"show-session", "-" + uuid7, uuid7, "session"},
		{"wide", uuid8, uuid8, "wide"},
		{"show-wide", "-" + uuid8, uuid8, "wide"},
	} {
		answer, err := anybody(s).Decode(test.text, "", test.generator)
		if d, _ := answer.(*decode.Document); err != nil || d == nil || d.ID != test.id || d.Generator != test.of {
			t.Errorf("%s, %s: %+v, %v", test.generator, test.text, answer, err)
		}
	}
	for _, test := range []struct {
		generator, text string
		want            front.Type
	}{
		{"none", "1", front.UnknownGenerator},
		{"a", "x", front.InvalidID},
		{"a", uuid7, front.InvalidID},
		{"a", "-1", front.InvalidID},
		{"show-a", "1", front.InvalidID},
		{"show-a", "-x", front.InvalidID},
		{"count", uuid7, front.InvalidID},
		{"count", "x", front.InvalidID},
		{"count", "0000000000000001000", front.InvalidID},
		{"session", "7", front.InvalidID},
		{"session", "507f1f77bcf86cd799439011", front.InvalidID},
		{"show-session", "-7", front.InvalidID},
		{"wide", uuid7, front.InvalidID},
		{"show-wide", "-x", front.InvalidID},
	} {
		answer, err := anybody(s).Decode(test.text, "", test.generator)
		if p := refused(t, test.generator, err, test.want); answer != nil || p.Limit == "" || strings.Contains(p.Limit, "snowfence") {
			t.Errorf("%s, %s: %+v, %v, want %s", test.generator, test.text, answer, err, test.want)
		}
	}
	refused(t, "both a layout and a generator", second(anybody(s).Decode("1", "twitter", "a")), front.InvalidLayout)
	unready := New(Config{Settings: s.settings})
	refused(t, "while it starts", second(anybody(unready).Decode("-1", "", "show-a")), front.Starting)
	if _, err := anybody(unready).Decode("1", "", "a"); err != nil {
		t.Errorf("a layout needs no minter: %v", err)
	}
}
