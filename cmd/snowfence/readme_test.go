package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// readmeProgram is what the README's example stands in. It waits for its input's
// end with the id that it made.
const readmeProgram = `package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/filestore"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
EXAMPLE
	fmt.Println(id)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}
`

// TestProgramOfTheREADMEEndsThoughItsStoreIsAway builds the README's example and
// lets it end while somebody keeps its store's lock. With its default window it
// may take two request timeouts of ten seconds.
func TestProgramOfTheREADMEEndsThoughItsStoreIsAway(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder, data := t.TempDir(), filepath.Join(t.TempDir(), "ids")
	source := strings.Replace(readmeProgram, "EXAMPLE", readmeExample(t, root, data), 1)
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"mod init example", "mod edit -replace snowfence.example/snowfence=" + root, "mod tidy", "build"} {
		command := exec.CommandContext(t.Context(), "go", strings.Fields(line)...)
		command.Dir, command.Env = folder, append(os.Environ(), "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", line, err, out)
		}
	}

	example := exec.CommandContext(t.Context(), filepath.Join(folder, "example"))
	stdin, err := example.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := example.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	example.Stderr = os.Stderr
	if err := example.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("it makes no id: %v", err)
	}
	lock, err := os.OpenFile(filepath.Join(data, "snowfence.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}

	begun := time.Now()
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Fatal(err)
	}
	if err := example.Wait(); err != nil {
		t.Errorf("it ends with: %v", err)
	}
	// A busy machine may add some seconds.
	if took := time.Since(begun); took < 10*time.Second || took > 30*time.Second {
		t.Errorf("it ended after %s, want 20 s", took)
	}
}

// readmeExample returns the README's Go example, on a store in a folder.
func readmeExample(t *testing.T, root, folder string) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "\n```go\n")
	example, _, ended := strings.Cut(rest, "\n```\n")
	const place = `"/var/lib/orders/ids"`
	if !found || !ended || strings.Count(example, place) != 1 || !strings.Contains(example, "Close(context.Background())") {
		t.Fatalf("the README's example is another one:\n%s", example)
	}
	return strings.Replace(example, place, `"`+folder+`"`, 1)
}
