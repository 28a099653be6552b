package testkit_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

func TestProxyPassesEverythingOn(t *testing.T) {
	s, _, c := connected(t)
	long := strings.Repeat("x", 300_000)
	for _, line := range []string{"a", "", long} {
		go c.say(line)
		c.want(strings.TrimSpace(s.name + ": " + line))
		if got := s.next(t); got != line {
			t.Errorf("the server heard %d bytes, want %d", len(got), len(line))
		}
	}
}

func TestHalfCloseIsPassedOn(t *testing.T) {
	s, _, c := connected(t)
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.want("server: bye")
	if _, err := c.hear(patience); !errors.Is(err, io.EOF) {
		t.Errorf("after the last line: %v, want EOF", err)
	}
	if err := <-s.ends; err != nil {
		t.Errorf("the server saw %v, want an orderly end", err)
	}
}

func TestResetIsPassedOn(t *testing.T) {
	s, _, c := connected(t)
	_ = c.SetLinger(0)
	_ = c.Close()
	if err := <-s.ends; !isReset(err) {
		t.Errorf("the server saw %v, want a reset", err)
	}
}

func TestTargetThatRefusesResetsTheClient(t *testing.T) {
	s := newLineServer(t, "server")
	_ = s.listener.Close()
	wantNoConnection(t, testkit.NewProxy(t, s.addr()))
}

func TestNewTargetIsForNewConnections(t *testing.T) {
	_, p, c := connected(t)
	second := newLineServer(t, "second")
	p.SetTarget(second.addr())
	greeted(t, second, p)
	c.say("still here")
	c.want("server: still here")
}

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

func TestResetAllSparesNewConnections(t *testing.T) {
	s, p, c := connected(t)
	other := greeted(t, s, p)
	p.ResetAll()
	c.wantReset()
	other.wantReset()
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

	// The end of one side is not told to the other.
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

func TestDropThatSwallowedNothingHealsWithoutATrace(t *testing.T) {
	_, p, c := connected(t)
	p.Drop()
	p.Heal()
	c.say("still here")
	c.want("server: still here")
}

func TestDropLeavesNoGapBehindWhenRepliesAreLostNext(t *testing.T) {
	s, p, c := connected(t)
	p.Drop()
	c.say("lost")
	c.wantSilence()
	p.LoseReplies()
	c.say("after the gap")
	s.hearsNothing(t)
	greetedMute := dial(t, p)
	greetedMute.say("of a whole stream")
	if got := s.next(t); got != "of a whole stream" {
		t.Errorf("the server heard %q", got)
	}
}

func TestLostRepliesLetRequestsThrough(t *testing.T) {
	s, p, c := connected(t)
	p.LoseReplies()
	for _, line := range []string{"first", "second"} {
		c.say(line)
		if got := s.next(t); got != line {
			t.Fatalf("the server heard %q, want %q", got, line)
		}
		c.wantSilence()
	}
	p.Heal()
	c.wantReset()
	greeted(t, s, p)
}

func TestHiddenEndsAreNotPassedOnUntilTheProxyHeals(t *testing.T) {
	s, p, c := connected(t)
	p.HideEnds()
	for _, end := range []func() error{c.CloseWrite, c.Close} {
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	aborted := greeted(t, s, p) // others are served
	_ = aborted.SetLinger(0)
	_ = aborted.Close()
	select {
	case err := <-s.ends:
		t.Fatalf("the server saw an end: %v", err)
	case <-time.After(quiet):
	}
	p.Heal()
	for range 2 {
		if err := <-s.ends; !isReset(err) {
			t.Errorf("the server saw %v after the proxy healed, want a reset", err)
		}
	}
}

func TestDelayHoldsEachDirectionBack(t *testing.T) {
	const delay = 80 * time.Millisecond
	tests := []struct {
		name              string
		requests, replies time.Duration
	}{{"requests", delay, 0}, {"replies", 0, delay}}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, p, c := connected(t)
			p.Delay(test.requests, test.replies)
			begun := time.Now()
			c.say("slow")
			s.next(t)
			if took := time.Since(begun); (took >= delay) != (test.requests > 0) {
				t.Errorf("the request took %v", took)
			}
			c.want("server: slow")
			if took := time.Since(begun); took < delay {
				t.Errorf("the round trip took %v", took)
			}
			p.Heal()
			begun = time.Now()
			c.say("quick")
			c.want("server: quick")
			if took := time.Since(begun); took >= delay {
				t.Errorf("after Heal a round trip took %v", took)
			}
		})
	}
}

func TestResetInterruptsADelay(t *testing.T) {
	_, p, c := connected(t)
	p.Delay(time.Hour, 0)
	c.say("never")
	c.wantSilence()
	p.ResetAll()
	c.wantReset()
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

func TestRepliesAreLostUntilTheServerIsSilent(t *testing.T) {
	s, p, c := connected(t)
	p.LoseReplyTo(func(request []byte) bool { return bytes.Contains(request, []byte("value")) })
	c.say("value")
	s.next(t)
	c.say("ping") // its reply is not the one to be passed on
	if got := s.next(t); got != "ping" {
		t.Fatalf("the server heard %q", got)
	}
	c.wantReset()
}

func TestServerThatDoesNotAnswerLosesNoReply(t *testing.T) {
	s, p, c := connected(t)
	lost := p.LoseReplyTo(anything)
	c.say("housekeeping")
	s.next(t)
	c.wantSilence()
	select {
	case <-lost:
		t.Error("a reply was lost before there was one")
	default:
	}
	p.ResetAll()
	c.wantReset()
}

func TestHealDisarmsALoss(t *testing.T) {
	_, p, c := connected(t)
	p.LoseReplyTo(anything)
	p.Heal()
	c.say("request")
	c.want("server: request")
}

func TestProxyTakesVerbsFromManyGoroutines(t *testing.T) {
	s := newLineServer(t, "server")
	p := testkit.NewProxy(t, s.addr())
	var clients sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 8 {
		clients.Go(func() {
			for ctx.Err() == nil {
				connection, err := net.Dial("tcp", p.Addr())
				if isReset(err) {
					continue
				}
				if err != nil {
					t.Errorf("dial: %v", err)
					return
				}
				_ = connection.SetDeadline(time.Now().Add(5 * time.Millisecond))
				_, _ = io.WriteString(connection, "hello\n")
				_, _ = bufio.NewReader(connection).ReadString('\n')
				_ = connection.Close()
				s.drain()
			}
		})
	}
	verbs := []func(){
		p.Cut, p.Heal, p.Drop, p.Heal, p.LoseReplies, p.ResetAll, p.Heal,
		func() { p.Delay(time.Millisecond, time.Millisecond) }, func() { p.LoseReplyTo(anything) },
		func() { p.SetTarget(s.addr()) },
	}
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for n := range 200 {
				verbs[(i+n)%len(verbs)]()
				runtime.Gosched()
			}
		})
	}
	callers.Wait()
	stop()
	clients.Wait()
	p.Heal()
	s.drain()
	c := dial(t, p)
	c.say("at last")
	c.want("server: at last")
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
