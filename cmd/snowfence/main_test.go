package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// The scripts run the program as a process of its own: this test binary under
// the name snowfence. It differs from the real one in main's readings of the world: the clock stands
// still at $FROZEN, if that is set, and local times are eight hours ahead of UTC.

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){
		"snowfence": func() { os.Exit(scripted().main(os.Args[1:])) },
	})
}

// suite ends the servers that tests share.
type suite struct{ *testing.M }

func (s suite) Run() int {
	defer lifetime.End()
	return s.M.Run()
}

func scripted() program {
	p := program{
		environ: os.Environ(),
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		closed:  isClosed(os.Stdout),
		clock:   snowfence.SystemClock(),
		zone:    time.FixedZone("", 8*60*60),
		slow:    testkit.Hang, // a note of a slow disk is not in the scripts
	}
	if at, err := time.Parse(time.RFC3339, os.Getenv("FROZEN")); err == nil {
		p.clock = frozen{p.clock, at}
	}
	return p
}

// frozen is a clock whose wall stands still.
type frozen struct {
	snowfence.Clock
	at time.Time
}

func (f frozen) Wall() time.Time { return f.at }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Values[daemonsKey{}] = daemons{}
			env.Values[testKey{}] = env.T()
			env.Defer(func() {
				for _, d := range env.Values[daemonsKey{}].(daemons) {
					d.Kill()
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"until": until,
			"fetch": fetch,
			"start": start,
			"halt":  halt,
		},
		RequireUniqueNames: true,
	})
}
