package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
)

// patience is how long a test waits for an expected event.
const patience = 3 * time.Minute

// running is a daemon that a test has started.
type running struct {
	t       *testing.T
	address string            // of HTTP
	urls    map[string]string // by front
	serving chan struct{}
	ended   chan struct{} // closed once result is set
	result  error
	stop    context.CancelFunc
	log     *syncBuffer
	page    chan string // its URL
}

// syncBuffer is a buffer that goroutines may write to.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// settings returns the settings of a daemon on a free port with its store in a folder.
func settings(folder string, generators map[string]Generator) Settings {
	s := DefaultSettings()
	s.Data, s.Generators = folder, generators
	s.HTTP, s.RESP, s.GRPC, s.Thrift = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	return s
}

// start runs a daemon until the test ends, and returns once it listens.
func start(t *testing.T, s Settings, kinds ...kind.Kind) *running {
	t.Helper()
	return startWith(t, func(c *Config) { c.Settings = s }, kinds...)
}

// startWith is start with a config, which a test sets.
func startWith(t *testing.T, set func(*Config), kinds ...kind.Kind) *running {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	d := &running{t: t, serving: make(chan struct{}), ended: make(chan struct{}), stop: stop, log: new(syncBuffer), page: make(chan string, 1)}
	listening := make(chan [2]string, len(protocols()))
	c := Config{
		Logger:    slog.New(slog.NewTextHandler(d.log, nil)),
		Version:   "test",
		Listening: func(front, url string) { listening <- [2]string{front, url} },
		Page:      func(url string) { d.page <- url },
		Serving:   func() { close(d.serving) },
	}
	set(&c)
	go func() {
		defer close(d.ended)
		d.result = Run(ctx, c, kinds...)
	}()
	d.urls = map[string]string{}
	select {
	case first := <-listening:
		d.urls[first[0]] = first[1]
	case <-d.ended: // it may have listened before
		if len(listening) == 0 {
			t.Fatalf("ended before it listened: %v", d.result)
		}
	case <-time.After(patience):
		t.Fatal("does not listen")
	}
	for len(d.urls) < max(fronts(c.Settings), len(c.Listeners)) {
		next := <-listening
		d.urls[next[0]] = next[1]
	}
	_, d.address, _ = strings.Cut(d.urls["http"], "://")
	t.Cleanup(func() {
		stop()
		<-d.ended
	})
	return d
}

// fronts returns how many fronts the settings ask for.
func fronts(s Settings) (n int) {
	for _, p := range protocols() {
		if *p.address(&s) != "" {
			n++
		}
	}
	return n
}

// ready waits until the daemon serves.
func (d *running) ready() *running {
	d.t.Helper()
	select {
	case <-d.serving:
	case <-d.ended:
		d.t.Fatalf("ended before it served: %v\n%s", d.result, d.log)
	case <-time.After(patience):
		d.t.Fatal("does not serve")
	}
	return d
}

// ends stops the daemon, which must end without an error.
func (d *running) ends() {
	d.t.Helper()
	d.stop()
	if err := d.end(); err != nil {
		d.t.Error(err)
	}
}

// logs waits until the log has a text.
func (d *running) logs(want string) {
	d.t.Helper()
	testkit.Eventually(d.t, func(context.Context) error {
		if log := d.log.String(); !strings.Contains(log, want) {
			return fmt.Errorf("the log lacks %q:\n%s", want, log)
		}
		return nil
	})
}

// end waits until the daemon has ended, and returns Run's error.
func (d *running) end() error {
	d.t.Helper()
	select {
	case <-d.ended:
		return d.result
	case <-time.After(patience):
		d.t.Fatal("does not end")
		return nil
	}
}

// get makes a request that must be answered, and returns the answer's status
// and body.
func (d *running) get(path string) (int, string) {
	d.t.Helper()
	status, body, err := d.try(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return status, body
}

// status makes a request that must be answered, and returns the answer's status.
func (d *running) status(path string) int {
	d.t.Helper()
	status, _ := d.get(path)
	return status
}

// try makes a request.
func (d *running) try(path string) (int, string, error) {
	r, err := http.Get("http://" + d.address + path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	return r.StatusCode, string(body), err
}

// mint returns the parts of n new ids.
func (d *running) mint(generator string, n string) []snowfence.Parts {
	d.t.Helper()
	status, body := d.get("/v1/generators/" + generator + "/ids?count=" + n)
	if status != http.StatusOK {
		d.t.Fatalf("mint: %d %s", status, body)
	}
	var answer struct {
		IDs []snowfence.ID `json:"ids"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		d.t.Fatal(err)
	}
	if !slices.IsSorted(answer.IDs) {
		d.t.Errorf("ids do not increase: %v", answer.IDs)
	}
	parts := make([]snowfence.Parts, len(answer.IDs))
	for i, id := range answer.IDs {
		var err error
		if parts[i], err = snowfence.DefaultLayout().Decompose(id); err != nil {
			d.t.Fatal(err)
		}
	}
	return parts
}

func TestOneCommandServesIDs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "not", "made", "yet")
	d := start(t, settings(folder, nil)).ready()
	if parts := d.mint("default", "3"); len(parts) != 3 {
		t.Errorf("%d ids, want 3", len(parts))
	}
	if status, body := d.get("/readyz"); status != http.StatusOK {
		t.Errorf("readyz: %d %s", status, body)
	}
	if _, body := d.get("/metrics"); !strings.Contains(body, `snowfence_ids_total{generator="default"} 3`) || !strings.Contains(body, `snowfence_store_request_duration_seconds_count{operation="swap",result="ok",store=""}`) {
		t.Errorf("metrics lack the ids or the store's requests:\n%s", body)
	}
	d.ends()
	for _, want := range []string{"msg=serving", "http=" + d.address, "namespace=default", "worker=", "until=", "the store is of one host"} {
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, d.log)
		}
	}
}

// longWait is the system's clock, but for one wait, which ends when the test ends it.
type longWait struct {
	snowfence.Clock
	wait time.Duration
	over chan time.Time
}

func (c *longWait) After(d time.Duration) (<-chan time.Time, func() bool) {
	if d == c.wait {
		return c.over, func() bool { return false }
	}
	return c.Clock.After(d)
}

func TestDaemonGoesOnServingUnreadyBeforeItEnds(t *testing.T) {
	s := settings(t.TempDir(), map[string]Generator{"default": {}, "plain": {Kind: "uuid"}})
	s.Limits.Linger = 7 * time.Minute
	clock := &longWait{snowfence.SystemClock(), s.Limits.Linger, make(chan time.Time)}
	d := startWith(t, func(c *Config) { c.Settings, c.Clock = s, clock }).ready()
	d.stop()
	for d.status("/readyz") == http.StatusOK {
		runtime.Gosched()
	}
	http.DefaultClient.CloseIdleConnections() // new clients come, too
	if status, body := d.get("/readyz/plain"); status != http.StatusServiceUnavailable || !strings.Contains(body, "problem/stopped") {
		t.Errorf("readyz/plain: %d %s", status, body)
	}
	if len(d.mint("default", "3")) != 3 || d.status("/v1/generators/plain/ids") != http.StatusOK || d.status("/livez") != http.StatusOK {
		t.Error("the daemon gives no ids, or is not live, while it lingers")
	}
	close(clock.over)
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.log.String(), `msg="ending: goes on serving for a while, and is not ready any more" for=7m0s`) {
		t.Errorf("the log does not show it:\n%s", d.log)
	}
}

// TestStandbyIsReadyWhileTheOtherGivesIDsAndActiveAfterwards has two daemons of one folder.
func TestStandbyIsReadyWhileTheOtherGivesIDsAndActiveAfterwards(t *testing.T) {
	layout, err := snowfence.ParseLayout("ms41-seq22")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	of := func(seen chan Stand) func(*Config) {
		return func(c *Config) {
			c.Settings = settings(t.TempDir(), map[string]Generator{"default": {Layout: layout, Standby: true}})
			c.Settings.Store, c.Stands, c.StandsEvery = "file:"+folder, func(s Stand) { seen <- s }, time.Hour // so only changes call it
		}
	}
	await := func(seen chan Stand, want Stand) {
		t.Helper()
		for {
			select {
			case got := <-seen:
				if got == want {
					return
				}
			case <-time.After(patience):
				t.Fatalf("it never stands so: %+v", want)
			}
		}
	}
	active := Stand{true, true, "gives ids of 1 of 1 generator"}
	firstSeen, secondSeen := make(chan Stand, 1000), make(chan Stand, 1000)
	first := startWith(t, of(firstSeen)).ready()
	await(firstSeen, active)
	second := startWith(t, of(secondSeen))
	await(secondSeen, Stand{true, false, "gives ids of 0 of 1 generator; default: The server stands by"})
	for d, want := range map[*running][2]int{first: {200, 200}, second: {200, 503}} {
		if got := [2]int{d.status("/readyz"), d.status("/activez")}; got != want {
			t.Errorf("/readyz and /activez answer %d, want %d", got, want)
		}
	}
	first.ends()
	await(firstSeen, Stand{false, false, "gives ids of 0 of 1 generator; default: The server has stopped minting"})
	await(secondSeen, active)
	if status := second.status("/activez"); status != http.StatusOK {
		t.Errorf("after the first one has ended: %d", status)
	}
}

// TestSocketThatIsGivenIsJudgedLikeAnAddress has a socket that other hosts reach.
func TestSocketThatIsGivenIsJudgedLikeAnAddress(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	err = Run(t.Context(), Config{Settings: settings(t.TempDir(), nil), Listeners: map[string]net.Listener{"grpc": l}})
	if err == nil || !strings.Contains(err.Error(), "insecure") {
		t.Error(err)
	}
}

func TestReleasedWorkerIDIsServedAgainAtOnce(t *testing.T) {
	folder := t.TempDir()
	generators := map[string]Generator{"default": {Worker: new(int64(7)), Window: time.Hour}}
	last := snowfence.Parts{}
	for range 3 {
		d := start(t, settings(folder, generators)).ready() // within much less than the window
		for _, p := range d.mint("default", "10") {
			if p.Worker != 7 || p.Tick < last.Tick || (p.Tick == last.Tick && p.Sequence <= last.Sequence) {
				t.Fatalf("%+v after %+v", p, last)
			}
			last = p
		}
		d.ends()
	}
}

func TestDaemonsOfOneStoreHaveWorkerIDsOfTheirOwn(t *testing.T) {
	folder := t.TempDir()
	two := map[string]Generator{"a": {}, "b": {}}
	workers := map[int64]bool{}
	for range 2 {
		d := start(t, settings(folder, two)).ready()
		for _, name := range []string{"a", "b"} {
			workers[d.mint(name, "1")[0].Worker] = true
		}
	}
	if len(workers) != 4 {
		t.Errorf("4 generators of one namespace have the worker ids %v", workers)
	}
}

func TestPinnedWorkerIDThatIsHeldIsWaitedForUntilItIsFree(t *testing.T) {
	folder := t.TempDir()
	pinned := func(wait time.Duration) map[string]Generator {
		return map[string]Generator{"default": {Worker: new(int64(7)), Window: time.Minute, ClaimWait: wait}} // ends soon, should the release fail
	}
	first := start(t, settings(folder, pinned(time.Second))).ready()
	second := start(t, settings(folder, pinned(time.Second)))
	// While it waits it is alive, and reports that it is not ready.
	if status, _ := second.get("/livez"); status != http.StatusOK {
		t.Errorf("livez: %d, want 200", status)
	}
	if status, body := second.get("/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "problem/starting") {
		t.Errorf("readyz: %d %s, want 503 and starting", status, body)
	}
	if status, body := second.get("/v1/generators/default/ids"); status != http.StatusServiceUnavailable {
		t.Errorf("ids: %d %s, want 503", status, body)
	}
	second.logs("it is tried again")
	if log := second.log.String(); !strings.Contains(log, "no worker id is free: worker 7: held by ") || !strings.Contains(log, " until ") {
		t.Errorf("the log does not show who holds it and until when: %s", log)
	}
	first.mint("default", "1") // is not disturbed
	first.ends()
	second.ready().mint("default", "1")
}

func TestAnotherLayoutEndsTheDaemonAtOnce(t *testing.T) {
	folder := t.TempDir()
	start(t, settings(folder, nil)).ready()
	s := settings(folder, nil)
	preset, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	s.Layout = preset.Layout
	var mismatch *fence.LayoutMismatchError
	if err := start(t, s).end(); !errors.As(err, &mismatch) {
		t.Errorf("error is %v, want a layout mismatch", err)
	}
}

func TestEndWhileClaimingIsNoError(t *testing.T) {
	folder := t.TempDir()
	pinned := map[string]Generator{"default": {Worker: new(int64(7)), Window: time.Hour, ClaimWait: time.Hour}}
	start(t, settings(folder, pinned)).ready()
	start(t, settings(folder, pinned)).ends()
}

func TestWhatCanNotBeOpenedIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for name, c := range map[string]struct {
		set  func(*Settings)
		want string
	}{
		"address in use":  {func(s *Settings) { s.HTTP = taken.Addr().String() }, taken.Addr().String()},
		"open to anybody": {func(s *Settings) { s.HTTP = "0.0.0.0:0" }, "insecure"},
		"no token":        {func(s *Settings) { s.TokenFile = "/nowhere/token" }, "/nowhere/token"},
		"no certificate":  {func(s *Settings) { s.TLS.Certificate, s.TLS.Key = "/nowhere/c", "/nowhere/k" }, "/nowhere/c"},
		"no such engine":  {func(s *Settings) { s.Store = "paper:" }, "supported are"},
		"no such folder":  {func(s *Settings) { s.Store = "file:/dev/null/store" }, "/dev/null/store"},
		"no such kind":    {func(s *Settings) { s.Generators = map[string]Generator{"a": {Kind: "paper"}} }, "unknown kind"},
	} {
		s := settings(t.TempDir(), nil)
		c.set(&s)
		if err := Run(t.Context(), Config{Settings: s}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, must name %q", name, err, c.want)
		}
	}
}

func TestWithoutAFrontTheDaemonStillHoldsItsWorkerIDs(t *testing.T) {
	s := settings(t.TempDir(), nil)
	s.HTTP = ""
	ctx, stop := context.WithCancel(t.Context())
	if err := Run(ctx, Config{Settings: s, Serving: stop}); err != nil {
		t.Error(err)
	}
}

// countedWaits is a clock that counts its waits, and ends a context at the hundredth.
type countedWaits struct {
	snowfence.Clock
	n   int
	end context.CancelFunc
}

func (c *countedWaits) After(d time.Duration) (expired <-chan time.Time, stop func() bool) {
	if c.n++; c.n == 100 {
		c.end()
	}
	return c.Clock.After(d)
}

func TestReloadThatWasClosedMeansNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
		defer end()
		closed := make(chan struct{})
		close(closed)
		clock := &countedWaits{Clock: snowfence.SystemClock(), end: end}
		d := &daemon{config: Config{Reload: closed}, clock: clock}
		d.reload(ctx)
		if clock.n > 12 {
			t.Errorf("%d waits in 10 s", clock.n)
		}
	})
}
