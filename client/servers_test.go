package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

func TestServerThatFailsIsReplacedAndLeftAlone(t *testing.T) {
	for name, answer := range map[string]string{
		"closes":          hangUp,
		"is silent":       silent,
		"is starting":     "-TRYAGAIN starting: the server has not opened the generator yet; retry after 1s\r\n",
		"has no lease":    "-NOLEASE lease-unavailable\r\n",
		"has a bad clock": "-CLOCK clock-unsafe\r\n",
		"answers another": "$1\r\n1\r\n",
		"answers none":    ranges(5, 0),
		"answers less":    ranges(),
		"answers more":    ranges(5, 2),
		"answers halves":  "*3\r\n$1\r\n5\r\n$1\r\n1\r\n$1\r\n6\r\n",
		"answers text":    "*2\r\n$1\r\nx\r\n$1\r\n1\r\n",
		"answers nothing": "*-1\r\n",
		"is no server":    "HTTP/1.1 400 Bad Request\r\n\r\n",
		"never ends":      strings.Repeat("x", 2*maxLine),
		"overflows":       ranges(9223372036854775807, 2),
		"wraps around":    ranges(-1, 1),
	} {
		synctest.Test(t, func(t *testing.T) {
			c, servers := connected(t, Config{}, func([]string) string { return answer }, counting(new(atomic.Int64)))
			if gives(t, c, 1, 2, 3); t.Failed() {
				t.Fatalf("with a server that %s", name)
			}
			if n := servers["a"].requests.Load(); n != 1 {
				t.Errorf("a server that %s was asked %d times", name, n)
			}
		})
	}
}

func TestSilentServerIsLeftAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{Timeout: 3 * time.Second}, func([]string) string { return silent }, counting(new(atomic.Int64)))
		began := time.Now()
		if _, err := c.Next(t.Context()); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

func TestLateAnswerIsNeverReadAsTheAnswerOfALaterRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := []*responder{
			{answer: script(silent, ranges(1, 1))}, // id 1 answers the first request, after its timeout
			{answer: script(ranges(2, 1), ranges(3, 1))},
		}
		next := 0
		t.Cleanup(func() {
			for _, c := range connections {
				c.open.Wait()
			}
		})
		c := newClient(t, Config{Servers: []string{"a"}, Timeout: 3 * time.Second, Dial: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			of := connections[next]
			next++
			of.open.Go(func() { of.talk(far) })
			return near, nil
		}})
		gives(t, c, 2, 3)
	})
}

func TestServerThatFallsSilentIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count, asked := counting(new(atomic.Int64)), 0
		c, servers := connected(t, Config{Timeout: 3 * time.Second}, func(words []string) string {
			if asked++; asked > 1 {
				return silent
			}
			return count(words)
		}, count)
		gives(t, c, 1, 2, 3)
		if n := servers["a"].requests.Load(); n != 2 {
			t.Errorf("it was asked %d times", n)
		}
	})
}

func TestSlowServerIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		count := counting(new(atomic.Int64))
		c, _ := connected(t, Config{Batch: 1, Timeout: time.Minute}, func(words []string) string {
			if first {
				first = false
				return "-TRYAGAIN\r\n"
			}
			<-time.After(6 * time.Second)
			return count(words)
		})
		for range 5 { // the last call waits for 30 s
			go func() {
				if _, err := c.Next(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		<-time.After(time.Minute)
	})
}

func TestPausesStartOverAfterAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := "-TRYAGAIN\r\n"
		c, _ := connected(t, Config{}, script(again, again, again, again, ranges(1, 1), again, ranges(2, 1)))
		for i, most := range []time.Duration{(10 + 20 + 40 + 80) * time.Millisecond, firstPause} {
			began := time.Now()
			gives(t, c, snowfence.ID(i+1))
			if took := time.Since(began); took < most/2 || took > most {
				t.Errorf("a call took %s, want from %s to %s", took, most/2, most)
			}
		}
	})
}

func TestServerThatCanNotBeReachedIsLeftAfterTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Config{Servers: []string{"a"}, MaxWait: time.Second, Timeout: time.Second, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		began := time.Now()
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrUnavailable) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// stuckDial connects to nothing, and heeds no context until it is released.
func stuckDial(release chan struct{}) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		<-release
		return nil, errors.New("no network")
	}
}

func TestConnectionThatEndsAfterItServedIsReplacedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := counting(new(atomic.Int64))
		ends := false
		c, servers := connected(t, Config{}, func(words []string) string {
			if ends = !ends; !ends {
				return hangUp
			}
			return count(words)
		}, count)
		began := time.Now()
		gives(t, c, 1, 2, 3, 4, 5)
		if n := servers["b"].requests.Load(); n != 0 || time.Since(began) != 0 {
			t.Errorf("%d requests to the other server, %s", n, time.Since(began))
		}
	})
}

func TestServerComesBackWhenTheOtherFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down [2]bool
		count := counting(new(atomic.Int64))
		server := func(i int) answers {
			return func(words []string) string {
				if down[i] {
					return "-TRYAGAIN\r\n"
				}
				return count(words)
			}
		}
		c, servers := connected(t, Config{}, server(0), server(1))
		for round := range 6 {
			down[round%2], down[1-round%2] = false, true
			gives(t, c, snowfence.ID(round+1))
		}
		if a, b := servers["a"].requests.Load(), servers["b"].requests.Load(); a < 5 || b < 5 {
			t.Errorf("%d requests to one, %d to the other", a, b)
		}
	})
}

func TestRequestThatIsRefusedForGoodFailsAtOnce(t *testing.T) {
	for _, answer := range []string{
		"-ERR unknown-generator: generator is \"x\"\r\n", "-NOAUTH Authentication required.\r\n", "-NOPERM not-allowed\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			c, servers := connected(t, Config{}, func([]string) string { return answer })
			_, err := c.Next(t.Context())
			refusal := new(ServerError)
			if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "server a: "+refusal.Code) || snowfence.ClassOf(err) != snowfence.ClassUsage || servers["a"].requests.Load() != 1 {
				t.Errorf("%q: %v, %d requests", answer, err, servers["a"].requests.Load())
			}
		})
	}
}

func TestServerThatRefusesIsNotAskedAgainWhileAnotherServes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{}, func([]string) string { return "-ERR unknown-generator\r\n" }, counting(new(atomic.Int64)))
		if _, err := c.Next(t.Context()); err == nil {
			t.Error("the refusal was not returned")
		}
		gives(t, c, 1, 2, 3)
	})
}

func TestCallWaitsForServersNoLongerThanMaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const maxWait, timeout = 5 * time.Second, 2 * time.Second
		for name, answer := range map[string]string{"refuses": "-TRYAGAIN starting\r\n", "is silent": silent} {
			c, servers := connected(t, Config{MaxWait: maxWait, Timeout: timeout, Batch: 1}, func([]string) string { return answer })
			// With requests of one id each call is behind those before it.
			for range 10 {
				go func() {
					began := time.Now()
					_, err := c.Next(t.Context())
					waited := time.Since(began)
					if !errors.Is(err, ErrUnavailable) || waited < maxWait || waited > maxWait+timeout {
						t.Errorf("a server that %s: %v after %s", name, err, waited)
					}
				}()
			}
			<-time.After(time.Minute)
			if n := servers["a"].requests.Load(); n < 2 || n > 100 {
				t.Errorf("a server that %s was asked %d times", name, n)
			}
		}
	})
}

func TestErrorOfAnOutageSaysWhatTheServerSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{}, func([]string) string { return "-CLOCK clock-unsafe\r\n" })
		_, err := c.Next(t.Context())
		refusal := new(ServerError)
		if !errors.Is(err, ErrUnavailable) || !errors.As(err, &refusal) || snowfence.ClassOf(err) != snowfence.ClassClock {
			t.Error(err)
		}
		want := "client: no server gives ids within 10s: client: server a: CLOCK clock-unsafe"
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	})
}

func TestErrorOfACallWhoseTimeIsOverSaysWhatTheServerSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{}, func([]string) string { return "-TRYAGAIN starting\r\n" })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := c.Next(ctx)
		want := "client: no server gives ids yet: context deadline exceeded: client: server a: TRYAGAIN starting"
		if !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if _, err := c.Next(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
			t.Errorf("a call that left: %v", err)
		}
	})
}

func TestAnswerThatRepeatsOrGoesBackIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		strict  bool
		answers []string
		want    []snowfence.ID
	}{
		{"a repeated id", false, []string{ranges(5, 1), ranges(5, 1), ranges(6, 1)}, []snowfence.ID{5, 6}},
		{"an earlier id", false, []string{ranges(5, 1), ranges(7, 1), ranges(3, 1), ranges(5, 1), ranges(8, 1)}, []snowfence.ID{5, 7, 3, 8}},
		{"a lower id, strictly", true, []string{ranges(5, 1), ranges(4, 1), ranges(5, 1), ranges(6, 1)}, []snowfence.ID{5, 6}},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, servers := connected(t, Config{Strict: c.strict}, script(c.answers...))
			if gives(t, client, c.want...); t.Failed() {
				t.Fatal(c.name)
			}
			if n := servers["a"].requests.Load(); n != int64(len(c.answers)) {
				t.Errorf("%s: %d requests, want %d", c.name, n, len(c.answers))
			}
		})
	}
}

func TestStrictClientRefusesEqualAndLowerIDsOfAnotherServer(t *testing.T) {
	for _, given := range []int64{50, 100} {
		synctest.Test(t, func(t *testing.T) {
			first := script(ranges(100, 1), "-TRYAGAIN\r\n", ranges(101, 1))
			second := func([]string) string { return ranges(given, 1) }
			c, servers := connected(t, Config{Strict: true}, first, second)
			gives(t, c, 100, 101)
			if servers["b"].requests.Load() == 0 {
				t.Error("the other server was not asked")
			}
		})
	}
}

func TestServerThatOnlyRepeatsIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{}, func([]string) string { return ranges(5, 1) })
		gives(t, c, 5)
		if _, err := c.Next(t.Context()); !errors.Is(err, ErrBackwards) || !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	})
}

func TestAnswerThatOverlapsAnEarlierOneIsRefused(t *testing.T) {
	for _, c := range []struct {
		answer []run
		ok     bool
	}{
		{[]run{{1, 9}, {15, 5}, {21, 9}, {40, 1}}, true},
		{[]run{{40, 1}}, true},
		{[]run{{1, 10}}, false},
		{[]run{{14, 1}}, false},
		{[]run{{1, 100}}, false},
		{[]run{{15, 5}, {20, 1}}, false},
		{[]run{{39, 5}}, false},
	} {
		s := newServers(Config{Servers: []string{"a"}})
		s.all[0].recent, s.all[0].highest = []run{{10, 5}, {20, 1}, {30, 10}}, 39
		if err := s.judge(s.all[0], c.answer); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.answer, err)
		}
	}
}

func TestFewAnswersAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connected(t, Config{}, counting(new(atomic.Int64)))
		for n := range snowfence.ID(2 * remembered) {
			gives(t, c, n+1)
		}
		if n := len(c.servers.all[0].recent); n != remembered {
			t.Errorf("%d runs are remembered", n)
		}
	})
}

func TestPausesGrowAndEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers(Config{Servers: []string{"a", "b"}})
		present := time.Now()
		for _, ms := range []int64{10, 20, 40, 80, 160, 320, 640, 1000, 1000} {
			most := time.Duration(ms) * time.Millisecond
			s.failed(s.all[0], errors.New("x"))
			if got := s.all[0].until.Sub(present); got < most/2 || got > most {
				t.Errorf("a pause of %s, want from %s to %s", got, most/2, most)
			}
		}
		if to, left := s.choose(present); to != s.all[1] || left != 0 {
			t.Errorf("chose %v after %s", to, left)
		}
		s.failed(s.all[1], errors.New("x"))
		if to, left := s.choose(present); to != nil || left < 5*time.Millisecond || left > 10*time.Millisecond {
			t.Errorf("chose %v after %s", to, left)
		}
	})
}

func TestTokenIsShownOnceAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const token = "correct-horse-battery"
		shown := 0
		count := counting(new(atomic.Int64))
		answer := func(words []string) string {
			if words[0] != "AUTH" {
				return count(words)
			}
			if shown++; words[1] != token {
				return "-WRONGPASS invalid-token\r\n"
			}
			return "+OK\r\n"
		}
		c, _ := connected(t, Config{Token: token}, answer)
		gives(t, c, 1, 2, 3)
		if shown != 1 {
			t.Errorf("the token was shown %d times", shown)
		}
		c, _ = connected(t, Config{Token: "wrong"}, answer)
		if _, err := c.Next(t.Context()); snowfence.ClassOf(err) != snowfence.ClassUsage {
			t.Errorf("a wrong token: %v", err)
		}
	})
}

func TestTLSIsSpokenOrNothing(t *testing.T) {
	authority := testkit.NewAuthority(t)
	pair, err := tls.LoadX509KeyPair(authority.Issue(t, "server", "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	plain := listen(t, func([]string) string { return hangUp })
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, counting(new(atomic.Int64)))
	trusting := &tls.Config{RootCAs: authority.Pool(), MinVersion: tls.VersionTLS12}
	for _, c := range []struct {
		name, server string
		config       *tls.Config
		ok           bool
	}{
		{"a server that is trusted", l.Addr().String(), trusting, true},
		{"a server that is not", l.Addr().String(), &tls.Config{MinVersion: tls.VersionTLS12}, false},
		{"a server without TLS", plain, trusting, false},
	} {
		client := newClient(t, Config{Servers: []string{c.server}, TLS: c.config, MaxWait: time.Nanosecond})
		if _, err := client.Next(t.Context()); (err == nil) != c.ok || !c.ok && !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
