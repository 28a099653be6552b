package lease

import (
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// script drives a state by hand, as a shell would, and looks at its requests.
type script struct {
	t     *testing.T
	state State
	now   Moment
	out   []Request // of the last step
	reads bool      // the last request to the store was a read
}

// testLayout counts ms from testEpoch and has 4 workers.
func testLayout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Datacenter, Bits: 1}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 12},
	}
	return l
}

// testWall is tick 1,000,000 of the layout.
func testWall() time.Time { return testLayout().TimeOf(1_000_000) }

const testStart = 1_000_000

func testProcess() stored.Process {
	return stored.Process{Host: "host-a", PID: 7, Version: "v1", Started: testWall().Add(-time.Hour)}
}

func otherProcess() stored.Process {
	return stored.Process{Host: "host-b", PID: 8, Version: "v1", Started: testWall().Add(-time.Hour)}
}

// pinned pins a config to worker 2.
func pinned(c *Config) { c.Worker = new(int64); *c.Worker = 2 }

// lossy makes the store lose up to 100 ms.
func lossy(c *Config) { c.Loss = 100 * time.Millisecond }

// newScript begins with a window of 900 ms, max-rollback of 100 ms and calls that wait.
func newScript(t *testing.T, changes ...func(*Config)) *script {
	t.Helper()
	c := Config{Layout: testLayout(), Window: 900 * time.Millisecond, MaxRollback: 100 * time.Millisecond, MaxWait: time.Hour, Process: testProcess()}
	for _, change := range changes {
		change(&c)
	}
	state, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &script{t: t, state: state, now: Moment{Wall: testWall(), Monotonic: time.Hour}}
}

// pass lets time pass.
func (s *script) pass(d time.Duration) {
	s.now.Wall = s.now.Wall.Add(d)
	s.now.Monotonic += d
}

// do takes a step.
func (s *script) do(e Event) {
	s.t.Helper()
	seed := binary.LittleEndian.Uint64(s.now.Random[:]) + 1
	for i := 0; i < len(s.now.Random); i += 8 {
		binary.LittleEndian.PutUint64(s.now.Random[i:], seed)
	}
	before := s.state
	s.state, s.out = before.Step(e, s.now)
	// The step is a function: the same again gives the same.
	state, out := before.Step(e, s.now)
	//nolint:govet // the same step must make errors that are equal in depth too
	if !reflect.DeepEqual(state, s.state) || !reflect.DeepEqual(out, s.out) {
		s.t.Fatalf("two steps from one state differ:\n%+v\n%+v", out, s.out)
	}
	s.generate()
}

// generate obeys the requests to the generator, and lets the state look at it.
func (s *script) generate() {
	out, g := s.out, &s.now.Generator
	for _, request := range out {
		switch r := request.(type) {
		case Call:
			s.reads = r.Verb == Get
		case Start:
			*g = snowfence.GeneratorStatus{Floor: r.Floor, Until: r.Until}
		case Extend:
			g.Until = r.Until
		case Revoke, Drain:
			*g = snowfence.GeneratorStatus{}
		}
	}
	if g.Until > 0 {
		g.Now = max(g.Now, g.Floor, testLayout().TickAt(s.now.Wall))
		g.Left = max(0, testLayout().TimeOf(g.Until).Sub(testLayout().TimeOf(g.Now)))
	}
	if slices.ContainsFunc(out, answeredByLooked) {
		var looked []Request
		s.state, looked = s.state.Step(Looked{}, s.now)
		s.out = append(out, looked...)
	}
}

// wake lets the time pass until the timer, and rings it.
func (s *script) wake() {
	s.t.Helper()
	for {
		looks := s.state.outage.look
		at, ok := s.state.Wake()
		if !ok {
			s.t.Fatalf("a timer is missing in phase %s", s.state.phase)
		}
		s.pass(max(0, at-s.now.Monotonic))
		s.do(Woken{})
		s.out = slices.DeleteFunc(s.out, func(r Request) bool { report, ok := r.(Report); return ok && report.What == Interrupted })
		if at != looks || len(s.out) > 0 {
			return // it was not only a look at the generator
		}
	}
}

// reply answers the request that is awaited.
func (s *script) reply(r Reply) {
	s.t.Helper()
	if s.state.awaited == 0 {
		s.t.Fatalf("an answer should be awaited in phase %s", s.state.phase)
	}
	r.ID = s.state.awaited
	s.do(r)
}

func (s *script) absent()  { s.t.Helper(); s.reply(Reply{Outcome: Absent}) }
func (s *script) unknown() { s.t.Helper(); s.reply(Reply{Err: errNoAnswer}) }
func (s *script) conflict() {
	s.t.Helper()
	s.reply(Reply{Outcome: Conflict})
}

func (s *script) found(version store.Version, record interface{ Encode() ([]byte, error) }) {
	s.t.Helper()
	s.foundBytes(version, encoded(s.t, record))
}

func (s *script) foundBytes(version store.Version, value []byte) {
	s.t.Helper()
	s.reply(Reply{Outcome: Found, Entry: store.Entry{Key: "", Value: value, Version: version}})
}

func (s *script) swapped(version store.Version) {
	s.t.Helper()
	s.reply(Reply{Outcome: Swapped, Version: version})
}

// request returns the last step's request of a type, which must be there.
func request[R Request](s *script) R {
	s.t.Helper()
	r, ok := find[R](s.out)
	if !ok {
		s.t.Fatalf("%T is not asked for in phase %s: %+v", r, s.state.phase, s.out)
	}
	return r
}

func find[R Request](out []Request) (R, bool) {
	for _, r := range out {
		if r, ok := r.(R); ok {
			return r, true
		}
	}
	var none R
	return none, false
}

// none checks that the last step asked for nothing of a type.
func none[R Request](s *script) {
	s.t.Helper()
	if r, ok := find[R](s.out); ok {
		s.t.Fatalf("%T is asked for in phase %s: %+v", r, s.state.phase, r)
	}
}

// call returns the last step's call to the store, if it is of that verb.
func (s *script) call(v Verb) (Call, bool) {
	call, ok := find[Call](s.out)
	return call, ok && call.Verb == v
}

// called returns the last step's call to the store, which must be of that verb.
func (s *script) called(v Verb) Call {
	s.t.Helper()
	call := request[Call](s)
	if call.Verb != v {
		s.t.Fatalf("the call is %+v in phase %s", call, s.state.phase)
	}
	return call
}

// uncalled fails if the last step makes a call of that verb.
func (s *script) uncalled(v Verb) {
	s.t.Helper()
	if call, ok := s.call(v); ok {
		s.t.Fatalf("it calls %+v in phase %s", call, s.state.phase)
	}
}

// written returns the register that the last step wants written.
func (s *script) written() (Call, stored.Register) {
	s.t.Helper()
	swap := s.called(Swap)
	r, err := stored.DecodeRegister(swap.Value)
	if err != nil {
		s.t.Fatal(err)
	}
	return swap, r
}

// in checks the phase.
func (s *script) in(p Phase) {
	s.t.Helper()
	if s.state.phase != p {
		s.t.Fatalf("the phase is %s, not %s: %+v", s.state.phase, p, s.out)
	}
}

const testIncarnation = "00112233445566778899aabbccddeeff"

func testNamespace() stored.Namespace {
	return stored.Namespace{Layout: testLayout().String(), Incarnation: testIncarnation, Created: testWall().Add(-time.Hour)}
}

// namespace is the record of the script's own layout.
func (s *script) namespace() stored.Namespace {
	n := testNamespace()
	n.Layout = s.state.config.Layout.String()
	return n
}

// open brings the script to where it looks at its first register.
func (s *script) open() {
	s.t.Helper()
	s.do(Started{})
	s.found("n1", s.namespace())
}

// reopen brings the script through the beginning of another attempt.
func (s *script) reopen() {
	s.t.Helper()
	s.in(Opening)
	s.found("n1", s.namespace())
}

// held is a register of another process with an until that many ms from the
// script's start.
func held(until snowfence.Tick) stored.Register {
	return stored.Register{
		Layout: testLayout().String(), Incarnation: testIncarnation, Term: 4, Floor: testStart - 500, Until: testStart + until,
		Holder: "ffeeddccbbaa99887766554433221100", Write: "0123456789abcdef",
		Clock: testWall(), Window: 900 * time.Millisecond, Process: otherProcess(),
	}
}

// released is the same one without its holder.
func released(until snowfence.Tick) stored.Register {
	r := held(until)
	r.Holder = ""
	return r
}

// claim brings the script to where its generator issues, on a lossy store to where the claim is to be
// confirmed. It returns the register as it claimed it, which has version "v1".
func (s *script) claim() stored.Register {
	s.t.Helper()
	r := s.swap()
	if s.state.phase == Verifying {
		s.found("n1", s.namespace())
	}
	return r
}

// swap brings the script to where its claim is in the store, and the namespace's record is to be read again.
func (s *script) swap() stored.Register {
	s.t.Helper()
	s.open()
	s.absent()
	_, r := s.written()
	s.swapped("v1")
	return r
}

// release asks for the end of a term that has stamped ticks below a bound.
func (s *script) release(reserved snowfence.Tick) {
	s.t.Helper()
	s.do(ReleaseAsked{})
	s.do(Drained{Reserved: reserved})
}

// acknowledge brings an extension to its end.
func (s *script) acknowledge(version store.Version) {
	s.t.Helper()
	s.extend()
	s.swapped(version)
}

// grants checks the bound that the last step gives the generator.
func (s *script) grants(want snowfence.Tick) {
	s.t.Helper()
	if got := request[Extend](s).Until; got != want {
		s.t.Errorf("the generator gets %d, not %d", got, want)
	}
}

// usable checks how far the term is usable.
func (s *script) usable(want snowfence.Tick) {
	s.t.Helper()
	if got := s.state.View().Usable; got != want {
		s.t.Errorf("%d is usable, not %d", got, want)
	}
}

// during answers again and again, for as long as a phase lasts.
func (s *script) during(p Phase, answer func()) {
	s.t.Helper()
	for s.state.phase == p {
		answer()
		if s.state.phase == p {
			s.wake()
		}
	}
}

// because checks that the last step reports an error which is all of these.
func (s *script) because(wanted ...error) {
	s.t.Helper()
	for _, want := range wanted {
		if err := request[Report](s).Err; !errors.Is(err, want) {
			s.t.Errorf("the error is %v, not %v", err, want)
		}
	}
}

// reason returns the error of a type that the last step reports.
func reason[E error](s *script) E {
	s.t.Helper()
	var err E
	if told := request[Report](s); !errors.As(told.Err, &err) {
		s.t.Fatalf("reported as %+v", told)
	}
	return err
}

// confirm brings a lossy script from a claim to the first ids, and returns what it asked for.
func (s *script) confirm() stored.Register {
	s.t.Helper()
	r := s.extend()
	s.swapped("v2")
	s.found("n1", s.namespace())
	return r
}

// extend brings the script from there to an extension that is under way.
func (s *script) extend() stored.Register {
	s.t.Helper()
	s.wake()
	_, r := s.written()
	return r
}

type testError string

func (e testError) Error() string { return string(e) }

const errNoAnswer = testError("no answer")

func encoded(t testing.TB, record interface{ Encode() ([]byte, error) }) []byte {
	t.Helper()
	value, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return value
}
