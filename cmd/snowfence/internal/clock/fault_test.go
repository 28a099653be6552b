//go:build faultclock

package clock

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// within reports whether the wall stands an offset away from the machine's.
func within(wall time.Time, offset time.Duration) bool {
	return (time.Until(wall) - offset).Abs() < time.Minute
}

func TestWallFollowsTheOffsetFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offset")
	write := func(offset string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(offset), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("-1h\n")
	c, err := Process(func(string) string { return path })
	if err != nil {
		t.Fatal(err)
	}
	if wall := c.Wall(); !within(wall, -time.Hour) {
		t.Errorf("wall is %v: must be an hour back", wall)
	}
	write("2h")
	expired, _ := c.After(2 * reread)
	<-expired
	if wall := c.Wall(); !within(wall, 2*time.Hour) {
		t.Errorf("wall is %v: must be two hours ahead", wall)
	}
	write("no duration")
	expired, _ = c.After(2 * reread)
	<-expired
	if wall := c.Wall(); !within(wall, 2*time.Hour) {
		t.Errorf("wall is %v: a file that can't be read must change nothing", wall)
	}
}

func TestOffsetFileMustHoldADuration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offset")
	if _, err := Process(func(string) string { return path }); err == nil {
		t.Error("a file that is missing was accepted")
	}
	if err := os.WriteFile(path, []byte("1 hour"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Process(func(string) string { return path }); err == nil {
		t.Error("a file without a duration was accepted")
	}
}

func TestNoVariableMeansTheMachinesClock(t *testing.T) {
	c, err := Process(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if wall := c.Wall(); !within(wall, 0) {
		t.Errorf("wall is %v: must be the machine's", wall)
	}
}
