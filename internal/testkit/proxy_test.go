package testkit_test

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"
)

func TestCutResetsConnectionsUntilItHeals(t *testing.T) {
	s, p, c := connected(t)
	p.Cut()
	c.wantReset()
	if err := <-s.ends; !isReset(err) {
		t.Errorf("the server saw %v, want a reset", err)
	}
	for range 3 {
		wantNoConnection(t, p)
	}
	p.Heal()
	greeted(t, s, p)
}

func TestDropSwallowsBothDirections(t *testing.T) {
	s, p, c := connected(t)
	p.Delay(0, quiet) // an answer is on its way
	c.say("before")
	if got := s.next(t); got != "before" {
		t.Fatalf("the server heard %q", got)
	}
	p.Drop()
	c.say("into the void")
	newcomer := dial(t, p)
	newcomer.say("anybody there?")
	s.hearsNothing(t)
	c.wantSilence()
	newcomer.wantSilence()

	// The end of one side is not passed on to the other.
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ends:
		t.Fatalf("the server saw the end: %v", err)
	case <-time.After(quiet):
	}

	// A stream with a gap is never continued.
	p.Heal()
	c.wantReset()
	newcomer.wantReset()
	greeted(t, s, p)
}

func TestLostReplyComesAfterTheRequestWasCarriedOut(t *testing.T) {
	s, p, c := connected(t)
	bystander := greeted(t, s, p)
	lost := p.LoseReplyTo(anything)
	c.say("request")
	if got := s.next(t); got != "request" {
		t.Fatalf("the server heard %q", got)
	}
	bystander.say("meanwhile")
	bystander.want("server: meanwhile")
	s.next(t)
	c.wantReset()
	<-lost
	// The server saw an orderly end: unread bytes were not lost.
	if err := <-s.ends; err != nil {
		t.Errorf("the server saw %v", err)
	}
	greeted(t, s, p)
	bystander.say("later")
	bystander.want("server: later")
}

func TestLostReplyIsThatOfTheRequestMeant(t *testing.T) {
	s, p, c := connected(t)
	lost := p.LoseReplyTo(func(request []byte) bool { return bytes.Contains(request, []byte("the value\n")) })
	for _, line := range []string{"ping", "another value", "ping"} {
		c.say(line)
		c.want("server: " + line)
		s.next(t)
	}
	// A request may arrive in pieces.
	for _, piece := range []string{"set the ", "value\n"} {
		if _, err := io.WriteString(c, piece); err != nil {
			t.Fatal(err)
		}
		if piece != "value\n" {
			s.hearsNothing(t)
		}
	}
	c.wantReset()
	<-lost
	if got := s.next(t); got != "set the value" {
		t.Errorf("the server heard %q", got)
	}
}

func TestProxyLeavesNothingRunning(t *testing.T) {
	t.Run("faults", func(t *testing.T) {
		s, p, c := connected(t)
		p.LoseReplies()
		c.say("unanswered")
		s.next(t)
		p.Drop()
		dial(t, p).say("unheard")
		c.say("unheard")
		_ = c.CloseWrite()
		p.Delay(time.Hour, time.Hour)
		c2 := dial(t, p)
		c2.say("held back")
		c2.wantSilence()
	})
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if slices.ContainsFunc([]string{"testkit.(*Proxy)", "testkit.(*link)"}, func(name string) bool {
			return bytes.Contains(stack, []byte(name))
		}) {
			t.Errorf("still running:\n%s", stack)
		}
	}
}

// anything matches whatever request comes next.
func anything([]byte) bool { return true }

// The text comes whole, in the midst of other bytes, and in pieces.
func TestProxyCountsATextHoweverItComes(t *testing.T) {
	s, p, c := connected(t)
	sent := p.Count("value-1.")
	for _, line := range []string{"value-1.", "a value-1. b value-1.", "value-2."} {
		c.say(line)
		c.want("server: " + line)
		s.next(t)
	}
	if _, err := io.WriteString(c, "value"); err != nil {
		t.Fatal(err)
	}
	c.say("-1.")
	c.want("server: value-1.")
	if n := sent(); n != 4 {
		t.Errorf("the text was sent %d times, want 4", n)
	}
	if n := p.Count("value-2.")(); n != 0 {
		t.Errorf("another text was sent %d times before it was looked for", n)
	}
}
