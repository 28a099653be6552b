package zkstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/storeclient"
)

// secondLook is the pause before servers are asked again that both claim to lead: a
// leader that was replaced may not know it yet.
const secondLook = time.Second

var errLeaders = errors.New("all endpoints must be of one ensemble")

// judge asks every endpoint for its role and version, all at once, by ZooKeeper's word srvr: the
// only one that a server answers unless its operator allows more. It returns an
// error if they can't be one ensemble, or run a release that is known to lose acknowledged writes.
// Unreadable settings are the operator's to ensure.
func (s *Store) judge(ctx context.Context) (err error) {
	// Servers that refuse sessions need not be asked.
	if _, err := call(ctx, s.session, func(*zk.Conn) (struct{}, error) { return struct{}{}, nil }); err != nil {
		return err
	}
	s.warnings, err = sound(s.answers(ctx), s.config.Loss > 0)
	if errors.Is(err, errLeaders) {
		pause, cancel := context.WithTimeout(ctx, secondLook)
		defer cancel()
		<-pause.Done()
		if ctx.Err() == nil {
			s.warnings, err = sound(s.answers(ctx), s.config.Loss > 0)
		}
	}
	return err
}

// answers returns the answers of the endpoints that can be asked in time.
func (s *Store) answers(ctx context.Context) []string {
	answers := make([]string, len(s.config.Endpoints))
	storeclient.AskAll(ctx, s.config.Endpoints, func(ctx context.Context, i int, endpoint string) bool {
		answers[i] = s.session.ask(ctx, endpoint, "srvr")
		return answers[i] != ""
	})
	return answers
}

// ask sends a word to a server and returns its answer, or nothing.
func (s *session) ask(ctx context.Context, address, word string) string {
	connection, err := storeclient.Dial(ctx, "tcp", address, s.tls)
	if err != nil {
		return ""
	}
	defer func() { _ = connection.Close() }()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if _, err := io.WriteString(connection, word); err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(connection, requestSize))
	if err != nil {
		return ""
	}
	return string(text)
}

// sound returns an error if servers with these answers can't be one ensemble, or can lose acknowledged
// writes; or a warning for the operator:
//
//   - servers that stand alone share nothing, and two leaders lead two ensembles;
//   - 3.9.3 leaves holes in a follower's log after a sync, and loses those transactions when
//     it leads (ZOOKEEPER-4925);
//   - a member before 3.9.3 that restarts, or changes its leader, can miss acknowledged writes
//     in its log (ZOOKEEPER-4785, 4712 and 3911).
//
// lossy is true if the operator allows for it.
func sound(answers []string, lossy bool) (warnings []string, err error) {
	modes, answered := map[string]int{}, 0
	for _, answer := range answers {
		release, mode := field(answer, "Zookeeper version: "), field(answer, "Mode: ")
		if mode == "" {
			continue
		}
		modes[mode]++
		answered++
		if lossy || mode == "standalone" {
			continue
		}
		var major, minor, patch int
		if n, _ := fmt.Sscanf(release, "%d.%d.%d", &major, &minor, &patch); n < 3 {
			continue
		}
		number := fmt.Sprintf("%d.%d.%d", major, minor, patch)
		switch {
		case number == "3.9.3":
			return nil, fmt.Errorf("ZooKeeper %s: an ensemble of it can lose acknowledged swaps when its leader changes: must be 3.9.4 or later, or say loss=", number)
		case (major < 3 || major == 3 && (minor < 9 || minor == 9 && patch < 3)) && warnings == nil:
			warnings = []string{fmt.Sprintf("ZooKeeper %s: an ensemble of a release before 3.9.4 can lose acknowledged swaps when its members restart; ids can then be issued twice: upgrade it", number)}
		}
	}
	switch {
	case modes["standalone"] > 0 && answered > 1:
		return nil, fmt.Errorf("%d of %d servers stand alone: all endpoints must be of one ensemble; name a single server once", modes["standalone"], answered)
	case modes["leader"] > 1:
		return nil, fmt.Errorf("%d servers lead: %w", modes["leader"], errLeaders)
	}
	return warnings, nil
}

// field returns the rest of the line that begins so.
func field(text, beginning string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, beginning); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
