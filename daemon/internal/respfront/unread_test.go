package respfront

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/config"
)

func TestPipelineIsAnsweredThoughAllOfItIsSentBeforeTheFirstRead(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Limits.WriteTimeout = 10 * time.Minute })
	l := f.dial()
	const n = 200_000
	if _, err := l.Write(bytes.Repeat(encode("INCR", "numbers"), n)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if got, want := l.reply(), fmt.Sprintf(":%d", i+1); got != want {
			t.Fatalf("reply %d is %s, want %s", i, got, want)
		}
	}
}

func TestClientThatReadsNothingIsToldAndLeft(t *testing.T) {
	for name, c := range map[string]struct {
		left int // bytes of the memory that others do not have
		want string
	}{
		"more than one client may have": {memory, "-TRYAGAIN too many bytes of answers are unread"},
		"all that clients have":         {1<<20 + 12<<10, "-TRYAGAIN clients keep all of the memory"},
	} {
		f := newFixture(t, "", func(c *config.Config) { c.Limits.WriteTimeout = 10 * time.Minute })
		f.memory.Add(memory - c.left)
		l := f.dial()
		echo := encode("ECHO", strings.Repeat("x", 8000))
		sent := make(chan error)
		go func() {
			_, err := l.Write(bytes.Repeat(echo, 10_000)) // 80 MB
			sent <- err
		}()
		if err := <-sent; err != nil { // before anything is read
			t.Fatal(err)
		}
		got := l.reply()
		for !strings.HasPrefix(got, "-") && got != "closed" {
			got = l.reply()
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %.200s", name, got)
		}
		f.memory.Give(memory - c.left)
		if got := f.dial().ask("INCR numbers"); got != ":1" {
			t.Errorf("%s: then %s", name, got)
		}
	}
}

func TestUnfinishedCommandTakesFromTheMemoryOfAll(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	l.ask("PING")
	spent := memory - int(f.memory.Used()) - 600 // a buffer of 1 KiB still fits, but not one of 2 KiB
	f.memory.Add(spent)
	defer f.memory.Give(spent)
	if _, err := io.WriteString(l, "*2\r\n$4\r\nECHO\r\n$3000\r\n"+strings.Repeat("x", 2000)); err != nil {
		t.Fatal(err)
	}
	if got := l.reply(); !strings.HasPrefix(got, "-TRYAGAIN clients keep all of the memory") {
		t.Errorf("%.100s", got)
	}
	if got := f.dial().ask("INCR numbers"); got != ":1" {
		t.Errorf("another client: %s", got)
	}
}

func TestBatchTakesFromTheMemoryOfAll(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Limits.Batch = 10_000 })
	const spent = memory/4*3 - 100<<10 // of the memory that large requests may take
	f.memory.Add(spent)
	defer f.memory.Give(spent)
	l := f.dial()
	if got := l.ask("ID.NEXT numbers COUNT 10000"); !strings.HasPrefix(got, "-TRYAGAIN overloaded: ") || f.numbers.Last.Load() != 0 {
		t.Errorf("%.100s", got)
	}
	if got := l.ask("INCR numbers"); got != ":1" {
		t.Errorf("a single id: %s", got)
	}
}

func TestAnswersThatWaitForAnIDTakeFromTheMemoryOfAll(t *testing.T) {
	for _, left := range []bool{true, false} {
		f := newFixture(t, "", func(c *config.Config) { c.Limits.Batch = 10_000 })
		spent, waits, goOn := 0, make(chan struct{}), make(chan struct{})
		f.numbers.Before = func() {
			switch {
			case f.numbers.Calls.Load() == 2: // the INCR
				close(waits)
				<-goOn
			case !left:
				spent = memory // by others, from now on
				f.memory.Add(spent)
			}
		}
		l := f.dial()
		if _, err := l.Write(append(encode("ID.NEXT", "numbers", "COUNT", "10000"), encode("INCR", "numbers")...)); err != nil {
			t.Fatal(err)
		}
		<-waits
		if used := f.memory.Used(); left && (used < chunk || used > 3*chunk) { // the text, and not the batch
			t.Errorf("%d bytes are taken", used)
		}
		if !left {
			if got := l.reply(); !strings.HasSuffix(got, "\"10000\")") {
				t.Errorf("it is not written: …%s", got[max(0, len(got)-100):])
			}
		}
		close(goOn)
		f.memory.Give(spent)
	}
}
