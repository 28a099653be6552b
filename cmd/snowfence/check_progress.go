package main

import (
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/idsort"
)

const (
	// barEvery is how often a bar is drawn, linesEvery how often a line is written
	// where nothing can be drawn.
	barEvery   = 200 * time.Millisecond
	linesEvery = 10 * time.Second
	// barWidth is the width of the bar itself.
	barWidth = 20
)

// watch shows how far sorting ids is, on a terminal or where it is asked for, until
// the func that it returns is called.
func (p program) watch(progress *idsort.Progress, asked bool) (stop func()) {
	if !p.draws && !asked {
		return func() {}
	}
	every := linesEvery
	if p.draws {
		every = barEvery
	}
	quit, done := make(chan struct{}), make(chan struct{})
	began := p.clock.Monotonic()
	show := func() {
		p.show(bar(progress.Snapshot(), p.clock.Monotonic()-began))
	}
	go func() {
		defer close(done)
		for {
			tick, drop := p.clock.After(every)
			select {
			case <-tick:
				show()
			case <-quit:
				drop()
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		if p.draws {
			_, _ = fmt.Fprint(p.stderr, "\r\x1b[K")
		} else {
			show()
		}
	}
}

// show draws a line over the one before, or writes it under that.
func (p program) show(line string) {
	if p.draws {
		_, _ = fmt.Fprintf(p.stderr, "\r%s\x1b[K", line)
	} else {
		p.note("%s", line)
	}
}

// bar says how far a check is, in less than 80 columns.
func bar(s idsort.Snapshot, passed time.Duration) string {
	what, part, known := "reading", s.Part(), s.Size > 0
	if s.Phase == idsort.Merging {
		what, part, known = "comparing", float64(s.Merged)/float64(max(s.IDs, 1)), true
	}
	line := fmt.Sprintf("%-9s ", what)
	if known {
		full := int(part * barWidth)
		line += fmt.Sprintf("[%s%s] %3d %%  ", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), int(part*100))
	}
	line += grouped(s.IDs) + " ids"
	if seconds := passed.Seconds(); seconds >= 1 {
		line += fmt.Sprintf("  %s/s", perSecond(float64(s.IDs)/seconds))
	}
	return line + "  " + passed.Truncate(time.Second).String()
}

// howFar says in words where a check was.
func howFar(s idsort.Snapshot) string {
	if s.Phase == idsort.Merging {
		return fmt.Sprintf("while comparing: all of %s read, %s of them compared", countOf(s.IDs, "id"), grouped(s.Merged))
	}
	text := fmt.Sprintf("while reading: %s read", countOf(s.IDs, "id"))
	if s.Size > 0 {
		text += fmt.Sprintf(", %d %% of the sources", int(s.Part()*100))
	}
	return text
}

// perSecond writes a rate: "12.3 M".
func perSecond(n float64) string {
	for _, unit := range []string{"", " k", " M"} {
		if n < 1000 {
			return fmt.Sprintf("%.3g%s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.3g G", n)
}

// grouped writes a number with commas.
func grouped(n uint64) string {
	s := fmt.Sprint(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// countOf writes a number of things.
func countOf(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return grouped(n) + " " + thing + "s"
}
