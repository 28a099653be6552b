package respfront

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/token"
)

// converse sends all commands at once, and expects their replies and then a PONG.
func (l *link) converse(commands string, replies ...string) {
	l.t.Helper()
	l.send(append(strings.Split(commands, "; "), "RESET", "PING")...)
	for i, want := range append(replies, "+RESET", "+PONG") {
		if got := l.reply(); got != want && (want == "+PONG" || !strings.HasPrefix(got, want)) {
			l.t.Errorf("%s: reply %d is %s, want %s", commands, i, got, want)
			return
		}
	}
}

func TestTransactionIsAnsweredAsInRedis(t *testing.T) {
	const queued, spoiled = "+QUEUED", "-EXECABORT Transaction discarded because of previous errors."
	for _, c := range []struct {
		commands string
		replies  []string
	}{
		{"MULTI; INCR numbers; ID.NEXT numbers; EXEC; INCR numbers", []string{"+OK", queued, queued, `(:1 "2")`, ":3"}},
		{"INCR numbers; MULTI; INCR numbers; INCR numbers; EXEC; EXEC", []string{":1", "+OK", queued, queued, "(:2 :3)", "-ERR EXEC without MULTI"}},
		{"MULTI; INCR none; INCR texts; INCR numbers; EXEC", []string{"+OK", queued, queued, queued,
			`(-ERR unknown-generator: generator is "none": must be one of late, numbers, texts ` +
				"-ERR the ids of texts are no numbers: use ID.NEXT texts :1)"}},
		{"MULTI; INCR numbers; DISCARD; INCR numbers", []string{"+OK", queued, "+OK", ":1"}},
		{"MULTI; INCR numbers; SUBSCRIBE a b; EXEC; INCR numbers", []string{"+OK", queued, "-ERR unknown command 'SUBSCRIBE'", spoiled, ":1"}},
		{"MULTI; INCR numbers; INCR; EXEC; INCR numbers", []string{"+OK", queued, "-ERR wrong number of arguments for 'incr' command", spoiled, ":1"}},
		{"MULTI; INCR numbers; CLIENT REPLY OFF; EXEC; INCR numbers", []string{"+OK", queued, "-ERR a command without a reply is not allowed", spoiled, ":1"}},
		{"MULTI; INCR numbers; GET numbers; EXEC; INCR numbers", []string{"+OK", queued, "-ERR GET never mints an id", spoiled, ":1"}},
		{"MULTI; INCR numbers; CLIENT KILL x; EXEC; INCR numbers", []string{"+OK", queued, "-ERR unknown command", spoiled, ":1"}},
		{"MULTI; INCR numbers; CLUSTER INFO; EXEC; INCR numbers", []string{"+OK", queued, "-ERR This instance has cluster support disabled", spoiled, ":1"}},
		{"MULTI; INCR numbers; REPLCONF ACK 1; EXEC; REPLCONF ACK 1; INCR numbers", []string{"+OK", queued, "-ERR a command without a reply", spoiled, ":1"}},
		{"MULTI; MULTI; WATCH numbers; UNWATCH; EXEC", []string{"+OK", "-ERR MULTI calls can not be nested", "-ERR WATCH inside MULTI is not allowed", queued, "(+OK)"}},
		{"WATCH numbers; MULTI; EXEC; DISCARD", []string{"+OK", "+OK", "()", "-ERR DISCARD without MULTI"}},
		{"MULTI; INCR numbers; EXEC now; INCR numbers", []string{"+OK", queued, "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command", ":1"}},
		{"MULTI; HELLO 3; CLIENT GETNAME; EXEC; CLIENT GETNAME", []string{"+OK", queued, queued, `({"server" "redis" "version"`, "nil"}},
		{"MULTI; INCR numbers; RESET; EXEC; INCR numbers", []string{"+OK", queued, "+RESET", "-ERR EXEC without MULTI", ":1"}},
		{"CLIENT REPLY OFF; INCR numbers; CLIENT REPLY ON; INCR numbers", []string{"+OK", ":2"}},
		{"CLIENT REPLY SKIP; INCR numbers; INCR numbers; INCRBY numbers 1", []string{":2", ":3"}},
		{"INCR numbers; CLIENT REPLY SKIP; INCRBY numbers 1; INCRBY numbers 1", []string{":1", ":3"}},
		{"CLIENT REPLY OFF; MULTI; INCR numbers; INCR numbers; EXEC; CLIENT REPLY ON; INCR numbers", []string{"+OK", ":3"}},
		{"MULTI; INCR numbers", []string{"+OK", queued}},
	} {
		f := newFixture(t, "")
		f.dial().converse(c.commands, c.replies...)
	}
}

func TestNumbersOfATransactionAreMintedAtEXECByFewCalls(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	l.send(slices.Concat([]string{"MULTI"}, slices.Repeat([]string{"INCR numbers"}, 50))...)
	for range 51 {
		l.reply()
	}
	if n := f.numbers.Last.Load(); n != 0 {
		t.Errorf("%d numbers are used up before EXEC", n)
	}
	if got := l.ask("EXEC"); !strings.HasPrefix(got, "(:1 :2 ") || !strings.HasSuffix(got, " :50)") || f.numbers.Calls.Load() != 1 {
		t.Errorf("%s, by %d calls", got, f.numbers.Calls.Load())
	}
}

func TestTokensAndRatesHoldAtEXEC(t *testing.T) {
	f := newFixture(t, "first "+token.HashOf("of-one-generator").String()+" generators=numbers", func(c *config.Config) { c.Limits.Batch, c.Limits.AddressRate = 1, 3 })
	l := f.dial()
	l.send("MULTI", "AUTH of-one-generator", "MULTI", "ID.NEXT texts", "INCR numbers", "INCR numbers", "INCR numbers", "INCR numbers", "EXEC")
	l.wants("-NOAUTH…", "+OK", "+OK", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED", "+QUEUED")
	got := l.reply()
	for _, want := range []string{"(-NOPERM not-allowed: ", " :1 :2 :3 -TRYAGAIN rate-limited: "} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

func TestTransactionIsBounded(t *testing.T) {
	f := newFixture(t, "")
	t.Run("commands", func(t *testing.T) {
		l := f.dial()
		all := encode("MULTI")
		all = append(all, bytes.Repeat(encode("PING"), maxQueued+2)...)
		all = append(append(all, encode("EXEC")...), encode("PING")...)
		go func() { _, _ = l.Write(all) }() // a failure shows in the replies
		for i := range maxQueued + 5 {
			want := map[int]string{0: "+OK", maxQueued + 1: "-ERR the transaction is too long: ", maxQueued + 3: "-EXECABORT ", maxQueued + 4: "+PONG"}[i]
			if got := l.reply(); !strings.HasPrefix(got, want) || want == "" && got != "+QUEUED" {
				t.Fatalf("reply %d is %s, want %s", i, got, want)
			}
		}
	})
	t.Run("bytes", func(t *testing.T) {
		l := f.dial()
		l.ask("MULTI")
		long := "ECHO " + strings.Repeat("x", maxCommand-100)
		for i := range maxQueuedBytes/maxCommand + 2 {
			if got := l.ask(long); got == "+QUEUED" {
				continue
			} else if i < maxQueuedBytes/maxCommand || !strings.HasPrefix(got, "-ERR the transaction is too long: ") {
				t.Errorf("command %d: %.80s", i, got)
			}
			break
		}
		if got := l.ask("EXEC"); !strings.HasPrefix(got, "-EXECABORT ") {
			t.Errorf("%.80s", got)
		}
	})
	t.Run("bytes of all", func(t *testing.T) {
		l, other := f.dial(), f.dial()
		l.ask("MULTI")
		other.ask("MULTI")
		spent := int(memory-f.memory.Used()) - 100
		f.memory.Add(spent)
		defer f.memory.Give(spent)
		for _, c := range []struct {
			of            *link
			command, want string
		}{
			{l, "ECHO " + strings.Repeat("x", 50), "+QUEUED"},
			{other, "ECHO " + strings.Repeat("x", 50), "-TRYAGAIN clients keep all of the memory "},
			{other, "EXEC", "-EXECABORT "},
			{l, "EXEC", `("xx`},
		} {
			if got := c.of.ask(c.command); !strings.HasPrefix(got, c.want) {
				t.Errorf("%.10s: %s, want %s", c.command, got, c.want)
			}
		}
		if left := memory - f.memory.Used(); left != 100 {
			t.Errorf("%d bytes are left, want 100", left)
		}
	})
}

func TestNextConnectionHasNothingOfATransaction(t *testing.T) {
	f := newFixture(t, "")
	l := f.dial()
	l.send("MULTI", "INCR numbers", "QUIT")
	l.wants("+OK", "+QUEUED", "+OK", "closed")
	if err := f.server.Drain(t.Context()); err != nil { // waits until the connection has given its memory back
		t.Error(err)
	}
	if n := f.numbers.Last.Load(); n != 0 {
		t.Errorf("%d numbers are used up", n)
	}
}
