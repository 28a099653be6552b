package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/filestore"
)

// TestNextSaysWhoseWorkerIDItWaitsFor has a namespace of one worker id, which another holder has.
func TestNextSaysWhoseWorkerIDItWaitsFor(t *testing.T) {
	dir := t.TempDir()
	args := []string{"next", "--store", "file:" + dir, "--layout", "ms41-seq1"}
	p, _, stderr := inTest(t)
	const made = "snowfence: made a new namespace \"default\" in file:"
	if code := p.run(t.Context(), args...); code != exitOK || !strings.HasPrefix(stderr.String(), made) {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	s, err := filestore.Open(t.Context(), filestore.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	holder, err := fence.Open(t.Context(), fence.Config{Store: s, Process: fence.Process{Host: "elsewhere", PID: 7}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close(context.Background()) }()

	said, writer := io.Pipe()
	p.stderr = writer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		p.run(ctx, args...)
		_ = writer.Close()
	}()
	lines := bufio.NewScanner(said)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "snowfence: waiting for ") ||
		!strings.Contains(lines.Text(), "held by pid 7 on host elsewhere until ") || !strings.HasSuffix(lines.Text(), " at most; Ctrl-C ends it") {
		t.Errorf("it says %q", lines.Text())
	}
	cancel()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "snowfence: it was still waiting for ") {
			return
		}
	}
	t.Error("interrupted, it does not name its wait")
}
