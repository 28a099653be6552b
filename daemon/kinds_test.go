package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

// gated is a kind of text ids whose mint calls wait at a gate.
type gated struct {
	entered chan struct{} // takes one for each call
	gate    chan struct{} // closed to let them go
	closed  atomic.Bool
	held    chan struct{} // if not nil, Close waits until it is closed
	step    string
	spec    kind.Spec
	tries   int
}

func newGated() *gated {
	return &gated{entered: make(chan struct{}, 1), gate: make(chan struct{})}
}

func (g *gated) Name() string { return "gated" }

func (g *gated) Configure(settings map[string]string) (kind.Opener, error) {
	for key := range settings {
		if key != "step" && key != "fail" {
			return nil, &kind.SettingError{Key: key, Limit: "is no setting of gated"}
		}
	}
	g.step = settings["step"]
	return func(_ context.Context, spec kind.Spec) (kind.Minter, error) {
		switch settings["fail"] {
		case "once":
			if g.tries++; g.tries == 1 {
				return nil, errors.New("no answer")
			}
		case "always":
			return nil, snowfence.NewError(snowfence.ClassFinal, "never")
		}
		g.spec = spec
		return g, nil
	}, nil
}

func (g *gated) Form() kind.Form { return kind.Text }

func (g *gated) Mint(_ context.Context, n int, into *kind.Batch) error {
	g.entered <- struct{}{}
	<-g.gate
	for i := range n {
		if err := into.AppendText(fmt.Appendf(nil, "G-%d", i)); err != nil {
			return err
		}
	}
	return nil
}

func (g *gated) Close(context.Context) error {
	g.closed.Store(true)
	if g.held != nil {
		<-g.held
	}
	return nil
}

func gatedSettings(t *testing.T, more map[string]string) Settings {
	return settings(t.TempDir(), map[string]Generator{"tickets": {Kind: "gated", Namespace: "box", Settings: more}})
}

func TestProgramsServeKindsOfTheirOwn(t *testing.T) {
	g := newGated()
	close(g.gate)
	d := start(t, gatedSettings(t, map[string]string{"step": "3"}), g).ready()
	if status, body := d.get("/v1/generators/tickets/ids?count=2"); status != http.StatusOK || body != `{"ids":["G-0","G-1"]}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
	if g.spec.Generator != "tickets" || g.spec.Namespace != "box" || g.step != "3" || g.spec.Store == nil {
		t.Errorf("the kind got %+v, step %q", g.spec, g.step)
	}
	if d.ends(); !g.closed.Load() {
		t.Error("the minter is open")
	}
}

func TestEndSaysWhichGeneratorItWaitsFor(t *testing.T) {
	g := newGated()
	g.held = make(chan struct{})
	s := gatedSettings(t, nil)
	clock := &longWait{snowfence.SystemClock(), waitSaid, make(chan time.Time)}
	d := startWith(t, func(c *Config) { c.Settings, c.Clock = s, clock }, g).ready()
	d.stop()
	for !g.closed.Load() {
		runtime.Gosched()
	}
	close(clock.over)
	const want = `msg="waits for the store, so that worker ids and unused numbers are given back" generators=[tickets] for=5s`
	d.logs(want)
	close(g.held)
	if err := d.end(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(d.log.String(), "waits for the store"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, d.log)
	}
}

func TestDaemonEndsWhenEveryGeneratorIsRefused(t *testing.T) {
	err := start(t, gatedSettings(t, map[string]string{"fail": "always"}), newGated()).end()
	var opened *OpenError
	if !errors.As(err, &opened) || opened.What != "generator tickets" {
		t.Errorf("error is %v", err)
	}
}

func TestGeneratorThatIsRefusedStopsNoOther(t *testing.T) {
	s := gatedSettings(t, map[string]string{"fail": "always"})
	s.Generators["default"] = Generator{}
	d := start(t, s, newGated())
	for d.status("/readyz/default") != http.StatusOK || !strings.Contains(d.log.String(), `level=ERROR msg="the generator is refused: it is tried again, and needs an operator" generator=tickets in=30s error=never`) {
		runtime.Gosched()
	}
	d.mint("default", "1")
	if status := d.status("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("readyz: %d", status)
	}
	if status, body := d.get("/v1/generators/tickets/ids"); status != http.StatusServiceUnavailable || !strings.Contains(body, "problem/refused") {
		t.Errorf("%d %s", status, body)
	}
	d.ends()
}

// TestKindsWithoutAStoreServeWhileAnothersStoreHangs has a store whose server accepts connections and answers nothing.
func TestKindsWithoutAStoreServeWhileAnothersStoreHangs(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	s := settings("", map[string]Generator{"numbers": {Kind: "segment"}})
	s.Store = "redis://" + silent.Addr().String()
	alone := []string{"uuid", "ulid", "objectid"}
	for _, name := range alone {
		s.Generators[name] = Generator{Kind: name}
	}
	d := start(t, s)
	for _, name := range alone {
		for d.status("/v1/generators/"+name+"/ids") != http.StatusOK {
			if log := d.log.String(); strings.Contains(log, "can't start yet: it is tried again\" generator="+name) {
				t.Fatalf("%s waits for the store of another generator:\n%s", name, log)
			}
			runtime.Gosched()
		}
	}
	if status, body := d.get("/v1/generators/numbers/ids"); status != http.StatusServiceUnavailable {
		t.Errorf("numbers: %d %s", status, body)
	}
}

func TestGeneratorThatFailsToOpenIsTriedAgain(t *testing.T) {
	g := newGated()
	close(g.gate)
	d := start(t, gatedSettings(t, map[string]string{"fail": "once"}), g).ready()
	if status, body := d.get("/v1/generators/tickets/ids"); status != http.StatusOK || g.tries != 2 {
		t.Errorf("%d %s, after %d tries", status, body, g.tries)
	}
	if log := d.log.String(); !strings.Contains(log, `level=WARN msg="the generator can't start yet: it is tried again" generator=tickets in=1s error="no answer"`) {
		t.Errorf("the log does not show it:\n%s", log)
	}
}

func TestSettingThatAKindRefusesIsAFaultOfTheConfiguration(t *testing.T) {
	err := Run(t.Context(), Config{Settings: gatedSettings(t, map[string]string{"stepp": "3"})}, newGated())
	if err == nil || err.Error() != `config: generators.tickets.settings.stepp: "3": is no setting of gated` {
		t.Errorf("error is %v", err)
	}
}

func TestKindsHaveNamesOfTheirOwn(t *testing.T) {
	if err := Run(t.Context(), Config{Settings: gatedSettings(t, nil)}, newGated(), newGated()); err == nil {
		t.Error("two kinds of one name were accepted")
	}
}

func TestRequestsUnderWayAreFinishedAndNewOnesRefused(t *testing.T) {
	g := newGated()
	d := start(t, gatedSettings(t, nil), g).ready()
	answered := make(chan int)
	go func() {
		status, _ := d.get("/v1/generators/tickets/ids")
		answered <- status
	}()
	<-g.entered
	d.stop()
	// Once the listener is closed, it refuses connections.
	for {
		if _, _, err := d.try("/livez"); err != nil {
			break
		}
	}
	if g.closed.Load() {
		t.Error("the minter was closed under a request")
	}
	close(g.gate)
	if status := <-answered; status != http.StatusOK {
		t.Errorf("the request under way got %d, want 200", status)
	}
	if err := d.end(); err != nil || !g.closed.Load() {
		t.Errorf("end: %v, closed %v", err, g.closed.Load())
	}
}

func TestDrainDoesNotWaitForever(t *testing.T) {
	g := newGated()
	s := gatedSettings(t, nil)
	s.Limits.Drain = 10 * time.Millisecond
	d := start(t, s, g).ready()
	cut := make(chan error)
	go func() {
		_, _, err := d.try("/v1/generators/tickets/ids")
		cut <- err
	}()
	<-g.entered
	d.stop()
	if err := <-cut; err == nil {
		t.Error("the request was answered though it was cut off")
	}
	if err := d.end(); err != nil || !g.closed.Load() {
		t.Errorf("end: %v, closed %v", err, g.closed.Load())
	}
	close(g.gate)
}
