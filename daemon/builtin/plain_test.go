package builtin

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/uuid/v5"
	"github.com/oklog/ulid/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/kind/kindtest"
)

// settable is a clock that a test sets.
type settable struct {
	snowfence.Clock
	now time.Time
}

func (c *settable) Wall() time.Time { return c.now }

var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// openPlain opens a generator without a store.
func openPlain(t *testing.T, clock snowfence.Clock, name string, set map[string]string) kind.Minter {
	t.Helper()
	c := with(t, config.Generator{Kind: name, Settings: set})
	c.Clock = clock
	return must[kind.Minter](t)(openAs[kind.Minter](t.Context(), c, "orders"))
}

// mintTexts mints n ids.
func mintTexts(t *testing.T, m kind.Minter, n int) []string {
	t.Helper()
	var b kind.Batch
	if err := m.Mint(t.Context(), n, &b); err != nil {
		t.Fatal(err)
	}
	var all []string
	for text := range b.Texts() {
		all = append(all, string(text))
	}
	return all
}

func TestPlainKindsKeepTheRulesOfKindsWithoutAStore(t *testing.T) {
	for name, settings := range map[string][]map[string]string{"uuid": {nil, {"version": "4"}, {"version": "7"}}, "ulid": {nil}, "objectid": {nil}} {
		for _, set := range settings {
			t.Run(name+set["version"], func(t *testing.T) {
				kindtest.TestMinter(t, func(t *testing.T) kind.Minter {
					t.Helper()
					m := openPlain(t, snowfence.SystemClock(), name, set)
					if want := find(name).form; m.Form() != want {
						t.Errorf("form is %v, want %v", m.Form(), want)
					}
					return m
				})
			})
		}
	}
}

func TestUUIDHasTheVersionConfigured(t *testing.T) {
	for set, want := range map[string]byte{"": 7, "7": 7, "4": 4} {
		settings := map[string]string{"version": set}
		if set == "" {
			settings = nil
		}
		id, err := uuid.FromString(mintTexts(t, openPlain(t, &settable{now: noon}, "uuid", settings), 1)[0])
		if err != nil || id.Version() != want || id.Variant() != uuid.VariantRFC9562 {
			t.Errorf("version %q: %v, %v", set, id, err)
		}
		if at, err := uuid.TimestampFromV7(id); want == 7 && err == nil {
			if at, err := at.Time(); err != nil || !at.Equal(noon) {
				t.Errorf("time is %v (%v), want %v", at, err, noon)
			}
		}
	}
}

func TestPlainIDIsOneThatItsSystemReads(t *testing.T) {
	id, err := ulid.ParseStrict(mintTexts(t, openPlain(t, &settable{now: noon}, "ulid", nil), 1)[0])
	if err != nil || !id.Timestamp().Equal(noon) {
		t.Errorf("ulid %v of %v: %v", id, id.Timestamp(), err)
	}
	object, err := bson.ObjectIDFromHex(mintTexts(t, openPlain(t, &settable{now: noon}, "objectid", nil), 1)[0])
	if err != nil || !object.Timestamp().Equal(noon) {
		t.Errorf("objectid %v of %v: %v", object, object.Timestamp(), err)
	}
}

// Also while the clock does not move, which is more ids than a millisecond's counter numbers.
func TestUUIDsAndULIDsIncreaseThoughTheClockStepsBack(t *testing.T) {
	for _, name := range []string{"uuid", "ulid"} {
		clock := &settable{now: noon}
		m := openPlain(t, clock, name, nil)
		var all []string
		for _, step := range []time.Duration{0, -time.Hour, time.Minute, 2 * time.Hour, -time.Millisecond} {
			clock.now = clock.now.Add(step)
			all = append(all, mintTexts(t, m, 5000)...)
		}
		if !slices.IsSorted(all) || len(slices.Compact(all)) != 25_000 {
			t.Errorf("%s: the ids do not increase", name)
		}
	}
}

func TestULIDThatWouldOverflowGetsTheNextMillisecond(t *testing.T) {
	entropy := bytes.NewReader(slices.Concat(
		bytes.Repeat([]byte{0xff}, 10), // the first id: all of its bits are set
		[]byte{1, 0, 0, 0},             // an increment
		bytes.Repeat([]byte{7}, 10),    // the second id
	))
	m := ulidsOf(&settable{now: noon}, ulid.Monotonic(entropy, 0))
	all := mintTexts(t, m, 2)
	for i, want := range []time.Time{noon, noon.Add(time.Millisecond)} {
		if id := ulid.MustParseStrict(all[i]); !id.Timestamp().Equal(want) {
			t.Errorf("id %d is of %v, want %v", i, id.Timestamp(), want)
		}
	}
	if all[0] >= all[1] {
		t.Errorf("%s is not below %s", all[0], all[1])
	}
	var b kind.Batch
	if err := m.Mint(t.Context(), 1, &b); err == nil || b.Len() != 0 { // no entropy is left
		t.Errorf("minted %d without entropy, error %v", b.Len(), err)
	}
}

func TestULIDOfAnImpossibleTimeIsRefused(t *testing.T) {
	var b kind.Batch
	if err := openPlain(t, &settable{now: time.Unix(-1, 0)}, "ulid", nil).Mint(t.Context(), 1, &b); !errors.Is(err, ulid.ErrBigTime) || b.Len() != 0 {
		t.Errorf("before 1970: %v", err)
	}
}

// The limit of [ObjectIDs] prevents this repetition.
func TestCounterOfPackageBSONRepeats(t *testing.T) {
	first := bson.NewObjectIDFromTimestamp(noon)
	for range 1<<24 - 1 {
		if bson.NewObjectIDFromTimestamp(noon) == first {
			t.Fatal("repeated early")
		}
	}
	if again := bson.NewObjectIDFromTimestamp(noon); again != first {
		t.Errorf("%v after 2^24 more, want %v", again, first)
	}
}

func TestObjectIDsBeyondTheCounterAreRefusedUntilTheNextSecond(t *testing.T) {
	clock := &settable{now: noon.Add(400 * time.Millisecond)}
	shared := &ObjectIDs{second: noon.Unix(), used: 1<<24 - 5}
	c := with(t, config.Generator{Kind: "objectid"})
	c.Settings.Generators["users"] = c.Settings.Generators["orders"]
	c.Clock, c.ObjectIDs = clock, shared
	orders, users := opened(t, c, "orders"), opened(t, c, "users")
	all := append(mintTexts(t, orders, 2), mintTexts(t, users, 2)...)
	for _, step := range []time.Duration{0, -time.Hour} {
		clock.now = clock.now.Add(step)
		var b kind.Batch
		var wait *snowfence.WaitError
		err := orders.Mint(t.Context(), 2, &b)
		if !errors.As(err, &wait) || wait.Need != 600*time.Millisecond-step || b.Len() != 0 || !strings.Contains(err.Error(), "16777216") {
			t.Errorf("clock moved by %v: %v, %d ids", step, err, b.Len())
		}
	}
	clock.now = noon.Add(time.Second)
	all = append(all, mintTexts(t, users, 1000)...)
	slices.Sort(all)
	if len(slices.Compact(all)) != 1004 {
		t.Error("an id repeats")
	}
}

func TestObjectIDOfATimeThatHasNoPlaceIsRefused(t *testing.T) {
	clock := &settable{now: time.Unix(math.MaxUint32, 0)}
	m := openPlain(t, clock, "objectid", nil)
	if id := mintTexts(t, m, 1)[0]; !strings.HasPrefix(id, "ffffffff") {
		t.Errorf("the last second has %s", id)
	}
	clock.now = clock.now.Add(time.Second)
	if err := m.Mint(t.Context(), 1, new(kind.Batch)); !errors.Is(err, snowfence.ErrPastHorizon) {
		t.Errorf("a second later: %v", err)
	}
}

// printsID makes this test binary a process that mints one id.
const printsID = "SNOWFENCE_TEST_PRINTS_OBJECTID"

// A machine's or a process's number would show: three processes of one machine share bytes of the five
// only by chance, and the bytes do not contain the processes' numbers.
func TestFiveBytesOfAnObjectIDAreRandomForEachProcess(t *testing.T) {
	if os.Getenv(printsID) != "" {
		_, _ = os.Stdout.WriteString("\nid=" + mintTexts(t, openPlain(t, snowfence.SystemClock(), "objectid", nil), 1)[0] + "\n")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const processes = 3
	machine, numbered := map[string]bool{}, 0
	for range processes {
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), printsID+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(out), "\nid=")
		id, err := hex.DecodeString(after[:min(len(after), 24)])
		if err != nil || len(id) != 12 {
			t.Fatalf("printed %q", out)
		}
		machine[string(id[4:7])] = true
		if binary.BigEndian.Uint16(id[7:9]) == uint16(cmd.Process.Pid) {
			numbered++
		}
	}
	if len(machine) != processes || numbered == processes {
		t.Errorf("of %d processes %d have first bytes of their own, and %d have their number", processes, len(machine), numbered)
	}
}
