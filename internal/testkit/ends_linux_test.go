//go:build servers

package testkit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// victim is set for the copy of this test's program that is to be killed.
const victim = "SNOWFENCE_TESTKIT_VICTIM"

// TestServerDiesWithAProgramThatIsKilled runs itself in a second process,
// which starts a server and is then killed: no cleanup runs there.
func TestServerDiesWithAProgramThatIsKilled(t *testing.T) {
	if os.Getenv(victim) != "" {
		s := testkit.Redis(t)
		fmt.Fprintf(os.Stderr, "server: %s %s\n", s.Addr(), s.Dir)
		<-t.Context().Done()
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "-test.run=^TestServerDiesWithAProgramThatIsKilled$")
	command.Env = append(command.Environ(), victim+"=1")
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		t.Fatalf("the second process prints %q", line)
	}
	address, dir := fields[1], fields[2]
	defer func() { _ = os.RemoveAll(dir) }()
	if _, err := testkit.RedisCall(t.Context(), address, "PING"); err != nil {
		t.Fatalf("the server does not answer: %v", err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait()
	testkit.Eventually(t, func(ctx context.Context) error {
		if _, err := testkit.RedisCall(ctx, address, "PING"); err == nil {
			return errors.New("the server still answers")
		}
		return nil
	})
}
