//go:build faultclock

package clock

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
)

// reread is how old a read of the offset may be.
const reread = time.Millisecond

// Process returns the machine's clock, with its wall clock set off by the duration in
// the file that SNOWFENCE_CLOCK_OFFSET_FILE names, if it does. It fails when that can't
// be read.
func Process(lookup func(variable string) string) (snowfence.Clock, error) {
	system := snowfence.SystemClock()
	path := lookup(config.EnvironmentClockOffset)
	if path == "" {
		return system, nil
	}
	offset, err := readOffset(path)
	if err != nil {
		return nil, err
	}
	c := &offsetClock{Clock: system, path: path}
	c.offset.Store(int64(offset))
	c.read.Store(int64(system.Monotonic()))
	return c, nil
}

// offsetClock is a clock whose wall is set off.
type offsetClock struct {
	snowfence.Clock
	path   string
	offset atomic.Int64 // nanoseconds
	read   atomic.Int64 // when the offset was last read, on the monotonic clock
}

// Wall adds the offset. One caller at a time reads it again; a file that can't be read,
// as it is being replaced, leaves it as it was.
func (c *offsetClock) Wall() time.Time {
	now, last := int64(c.Monotonic()), c.read.Load()
	if now-last >= int64(reread) && c.read.CompareAndSwap(last, now) {
		if offset, err := readOffset(c.path); err == nil {
			c.offset.Store(int64(offset))
		}
	}
	return c.Clock.Wall().Add(time.Duration(c.offset.Load()))
}

func readOffset(path string) (time.Duration, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read the clock's offset: %w", err)
	}
	offset, err := time.ParseDuration(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("read the clock's offset from %s: %w", path, err)
	}
	return offset, nil
}
