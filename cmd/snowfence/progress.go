package main

import (
	"fmt"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/internal/text"
)

// How often a line is drawn over the one before, or written where that can't be.
const (
	drawnEvery   = 200 * time.Millisecond
	writtenEvery = 10 * time.Second
)

// watch shows how far sorting ids is, on a terminal or if asked, until stop is called.
func (p program) watch(progress *idsort.Progress, asked bool) (stop func()) {
	if !p.draws && !asked {
		return func() {}
	}
	began := p.clock.Monotonic()
	every, last, show := writtenEvery, "", func(line string) { p.note("%s", line) }
	if p.draws {
		every, last = drawnEvery, "\r\x1b[K"
		show = func(line string) { _, _ = fmt.Fprintf(p.stderr, "\r%s\x1b[K", line) }
	}
	line := func() string {
		return fmt.Sprintf("%s, %s", howFar(progress.Snapshot()), (p.clock.Monotonic() - began).Truncate(time.Second))
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			tick, drop := p.clock.After(every)
			select {
			case <-tick:
				show(line())
			case <-quit:
				drop()
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		if last == "" {
			show(line())
		}
		_, _ = fmt.Fprint(p.stderr, last)
	}
}

// howFar says how far sorting ids is, in less than 70 columns.
func howFar(s idsort.Snapshot) string {
	if s.Phase == idsort.Merging {
		return fmt.Sprintf("comparing: %s of %s", text.Grouped(s.Merged), text.Count(s.IDs, "id"))
	}
	line := "reading: " + text.Count(s.IDs, "id")
	if s.Size > 0 {
		line += fmt.Sprintf(", %d %% of the sources", min(100, 100*s.Bytes/s.Size))
	}
	return line
}
