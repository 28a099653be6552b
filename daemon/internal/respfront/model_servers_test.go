//go:build servers

package respfront

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestRepliesAreAsManyAndOfTheKindsOfRedis holds the model to redis-server, and the front beside it.
func TestRepliesAreAsManyAndOfTheKindsOfRedis(t *testing.T) {
	redis, front := testkit.Redis(t), newFixture(t, "")
	if _, err := testkit.RedisCall(t.Context(), redis.Addr(), "SET texts abc"); err != nil {
		t.Fatal(err)
	}
	var shared []line
	for _, l := range lines() {
		if l.redis {
			shared = append(shared, l)
		}
	}
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 2))
		var chosen []line
		m := model{proto: "2"}
		for range random.IntN(60) {
			l := shared[random.IntN(len(shared))]
			if m.open && (strings.HasPrefix(l.command, "CLIENT REPLY ") || isAck(l)) {
				continue // Redis sends fewer replies then than EXEC has announced
			}
			if m.touched && l.command == "EXEC" {
				continue // Redis carries out nothing then; no key is watched here
			}
			m.take(l)
			chosen = append(chosen, l)
		}
		text, want := pipeline(chosen, func() int { return random.IntN(4) })
		for name, address := range map[string]string{"redis-server": redis.Addr(), "the front": front.address} {
			l := dial(t, address)
			if _, err := io.Copy(l, bytes.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			if err := compare(l.reader, want); err != nil {
				t.Errorf("seed %d, %s: %v\n%q", seed, name, err, text)
			}
			_ = l.Close()
		}
	}
}

// TestInlineWordsAreThoseOfRedis compares replies byte by byte, and whether the connection ends with them.
func TestInlineWordsAreThoseOfRedis(t *testing.T) {
	redis, front := testkit.Redis(t), newFixture(t, "")
	pieces := []string{"a", "b", " ", "\t", "\v", "\r", "\u00a0", "\"", "\"", "\"", "'", "'", "\\", "\\n", "\\x41", "\\xg", "\\'", "\\\"", "x"}
	ended, random := 0, rand.New(rand.NewPCG(1, 3))
	for range 1000 {
		text := "ECHO "
		for range random.IntN(9) {
			text += pieces[random.IntN(len(pieces))]
		}
		text += "\r\nPING\r\nQUIT\r\n"
		var got []string
		for _, address := range []string{redis.Addr(), front.address} {
			l := dial(t, address)
			if _, err := io.WriteString(l, text); err != nil {
				t.Fatal(err)
			}
			all, _ := io.ReadAll(l.reader) // a reset after the last reply may be an error
			got = append(got, string(all))
			_ = l.Close()
		}
		if strings.Contains(got[0], "unbalanced quotes") {
			ended++
		}
		if got[0] != got[1] {
			t.Errorf("%q: %q, Redis answers %q", text, got[1], got[0])
		}
	}
	if ended < 100 || ended > 900 {
		t.Errorf("%d of 1000 lines have unbalanced quotes", ended)
	}
}
