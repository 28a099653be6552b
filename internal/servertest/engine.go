package servertest

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// limit ends a wait that would never end by itself.
const limit = 2 * time.Minute

// secret is the password in every URL of the tables. Nothing may show it.
const secret = "hunter2"

// Engine is a table of what differs between engines. A rule whose field is nil does not apply.
type Engine struct {
	// Name is the one that the environment has for a server, as CONTRIBUTING.md shows.
	Name string

	// Start starts a server that keeps the rules of its engine. Required.
	Start func(t testing.TB) *testkit.Server

	// URL names a store. Required.
	URL func(Place) string

	// Open opens the store that a URL names. Required.
	Open func(ctx context.Context, url string) (store.Store, error)

	// Beside means that the rules are checked beside other subtests, but for the one that counts goroutines. It comes first.
	Beside bool

	// Wire returns the form of a part of a key or a value in a request. Nil means that it is sent as it is.
	Wire func(text string) string

	// Prepare makes a place ready, so that each swap is one request.
	Prepare func(t *testing.T, server *testkit.Server, prefix string)

	// Snapshot is the one of the conformance suite's harness.
	Snapshot func(t *testing.T, server *testkit.Server) func(context.Context) (restore func(context.Context) error, err error)

	// Apart are places on one server that share no register, but for places below others.
	Apart []Place

	// Ensemble means that Open refuses two addresses of one server, if it answers at both.
	Ensemble bool

	// Hostless means that a URL names no host. Then the rules about several hosts, and about logins and TLS in URLs, do
	// not apply.
	Hostless bool

	// Members means that Open asks every address: one that does not answer must not hold it up.
	Members bool

	// OpenExisting opens a store that must exist.
	OpenExisting func(ctx context.Context, url string) (store.Store, error)

	// Content describes all that the server holds.
	Content func(t *testing.T, server *testkit.Server) string

	// Damage spoils a register, by the name of the damage. A swap of it returns Spoiled then.
	Damage  map[string]func(t *testing.T, server *testkit.Server, prefix, key string)
	Spoiled error

	// Login starts a server that lets in the login at own alone, who has the documented rights.
	Login func(t *testing.T) (server *testkit.Server, own Place, strangers map[string]Place)

	// SetPassword makes a user's password another one, or makes the user, and ends connections.
	SetPassword func(t *testing.T, server *testkit.Server, user, password string)

	// TLS starts a server that speaks TLS at an address, with clients of the authority alone.
	TLS func(t *testing.T, authority, certificate, key string) (address string)

	// Traits are what a store claims, by the query of its URL.
	Traits map[string]store.Traits

	// Hostile has the answers that break the protocol. Its server and its use are set.
	Hostile testkit.Hostile

	URLs
}

// Opener makes an engine's OpenURL fit the table.
func Opener[S store.Store](open func(context.Context, string) (S, error)) func(context.Context, string) (store.Store, error) {
	return func(ctx context.Context, url string) (store.Store, error) {
		s, err := open(ctx, url)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// Place is where a store is, and who opens it.
type Place struct {
	Addresses      []string
	Prefix         string // keeps stores of one server apart; empty means the engine's default
	Space          string // a database or a bucket; empty means the engine's default
	User, Password string
	Query          string // more of the URL, such as "tls=true&ca=FILE"
}

// bed is the server on which a rule is checked, and the rule's place there.
type bed struct {
	Engine
	server *testkit.Server
	prefix string
}

// Run checks every rule in a subtest of its name. Where the environment names a server, it checks
// the conformance suite alone.
func Run(t *testing.T, e Engine) {
	t.Helper()
	if address := os.Getenv("SNOWFENCE_TEST_" + strings.ToUpper(e.Name)); address != "" {
		external(t, e, address)
		return
	}
	server := e.Start(t)
	for i, rule := range rules(e) {
		if rule.left {
			continue
		}
		if e.Beside && i == 1 {
			t.Parallel()
		}
		t.Run(rule.name, func(t *testing.T) {
			rule.check(t, bed{Engine: e, server: server, prefix: strings.ToLower(rule.name)})
		})
	}
}

// rule is one thing that an engine must do.
type rule struct {
	name  string
	check func(*testing.T, bed)
	left  bool // by its table the engine has no such thing
}

func rules(e Engine) []rule {
	return []rule{
		{name: "ClosedStoreLeavesNoGoroutine", check: closedStoreLeavesNoGoroutine},

		{name: "Conformance", check: conformance},
		{name: "ConformanceUnderFaults", check: conformanceUnderFaults},
		{name: "PrefixesDoNotSeeEachOther", check: prefixesDoNotSeeEachOther},
		{name: "ReaderWritesNothing", check: readerWritesNothing, left: e.Content == nil},
		{name: "StoreThatMustExistIsNotMade", check: storeThatMustExistIsNotMade, left: e.OpenExisting == nil},
		{name: "WhatOthersWroteIsDamage", check: whatOthersWroteIsDamage},
		{name: "StoreClaimsWhatItsOperatorAsserts", check: storeClaimsWhatItsOperatorAsserts},

		{name: "SwapIsSentOnce", check: swapIsSentOnce},
		{name: "SilentServerEndsNoContextLate", check: silentServerEndsNoContextLate},
		{name: "CloseEndsCallsThatWait", check: closeEndsCallsThatWait},
		{name: "ClientSurvivesARestartOfItsServer", check: clientSurvivesARestart},
		{name: "AnyOfSeveralEndpointsWillDo", check: anyEndpointWillDo, left: e.Hostless},
		{name: "MemberThatIsAwayHoldsNobodyUp", check: memberThatIsAwayHoldsNobodyUp, left: !e.Members},
		{name: "ErrorSaysWhyNobodyAnswers", check: errorSaysWhyNobodyAnswers},
		{name: "NoAnswerEndsTheProgram", check: noAnswerEndsTheProgram, left: e.Hostile.Answers == nil},

		{name: "RightsOfTheDocumentationSuffice", check: documentedRightsSuffice, left: e.Login == nil},
		{name: "PasswordFileMayChange", check: passwordFileMayChange, left: e.SetPassword == nil},
		{name: "TLSIsVerifiedInBothDirections", check: tlsIsVerified, left: e.Hostless},

		{name: "URLMeansItsConfig", check: urlMeansItsConfig, left: e.Meaning == nil},
		{name: "BadURLIsRefusedByItsPart", check: badURLIsRefused, left: e.Bad == nil},
		{name: "FileThatCannotBeUsedIsNamedByOpenAlone", check: unusableFileIsNamed},
		{name: "PasswordIsNeverShown", check: passwordIsNeverShown, left: e.Hostless},
	}
}

// at is the rule's place at addresses, by default the server's own.
func (b bed) at(addresses ...string) Place {
	if len(addresses) == 0 {
		addresses = []string{b.server.Addr()}
	}
	return Place{Addresses: addresses, Prefix: b.prefix}
}

// wire is Wire.
func (b bed) wire(text string) string {
	if b.Wire == nil {
		return text
	}
	return b.Wire(text)
}

// open opens the store at a place until the end of the test.
func (b bed) open(t *testing.T, p Place) store.Store {
	t.Helper()
	return Opened(t, b.Open, b.URL(p))
}

// warm opens a store whose next swap is one request: its connection and its script exist.
func (b bed) warm(ctx context.Context, p Place) (store.Store, error) {
	s, err := b.Open(ctx, b.URL(p))
	if err != nil {
		return nil, err
	}
	if _, err := s.Swap(ctx, "no-such-key", "no-such-version", nil); !errors.Is(err, store.ErrConflict) {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// calls are one of each kind, by name.
func calls(s store.Store, version store.Version) map[string]func(context.Context) error {
	all := map[string]func(context.Context) error{
		"get":    func(ctx context.Context) error { _, err := s.Get(ctx, "key"); return err },
		"swap":   func(ctx context.Context) error { _, err := s.Swap(ctx, "key", version, nil); return err },
		"create": func(ctx context.Context) error { _, err := s.Swap(ctx, "new", "", nil); return err },
		"list":   func(ctx context.Context) error { return Listed(ctx, s, "", nil) },
	}
	if clock, ok := store.ClockOf(s); ok {
		all["now"] = func(ctx context.Context) error { _, err := clock.Now(ctx); return err }
	}
	return all
}

// ended returns a call's results, and fails the test if it hangs.
func ended(t *testing.T, name string, call func() error) error {
	t.Helper()
	returned := make(chan error, 1)
	go func() { returned <- call() }()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-returned:
		return err
	case <-late.C:
		t.Errorf("%s hangs", name)
		return nil
	}
}
