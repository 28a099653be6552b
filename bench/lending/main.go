// Command lending measures how many ids a second one process makes in several languages: with a borrowed worker id, by a
// request for each id, and by a request for a hundred. The goal is that a
// borrowed worker id gives twenty times as many as an INCR each.
//
//	make bench-lending
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/bench/contest"
	"snowfence.example/snowfence/bench/serving"
)

// leastGain is the goal: how many times the rate of INCR a borrower has.
const leastGain = 20

func main() {
	program := flag.String("program", "../.bin/snowfence", "the program whose daemon lends")
	rounds := flag.Int("rounds", 3, "interleaved rounds; the median counts")
	each := flag.Duration("each", 2*time.Second, "time of one measurement")
	flag.Parse()
	serving.Exit("lending", run(context.Background(), *program, *rounds, *each))
}

// language is a program that prints its rate.
type language struct {
	name    string
	command []string
}

// run measures the languages. A missed goal is an error.
func run(ctx context.Context, program string, rounds int, each time.Duration) (err error) {
	folder, err := os.MkdirTemp("", "snowfence-bench-lending-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	lendAll := []string{"SNOWFENCE_GENERATORS_DEFAULT_LEND_SHARE=100"}
	d, err := serving.Daemon(ctx, program, lendAll, "--data", folder, "--http", serving.Free)
	if err != nil {
		return err
	}
	defer d.Stop()
	all, err := languages(ctx, folder)
	if err != nil {
		return err
	}
	c := contest.Contest{Title: fmt.Sprintf("Ids of one process, runs of %s", each), Rounds: rounds}
	for _, l := range all {
		for _, way := range []string{"lent", "incr", "hundred"} {
			c.Contenders = append(c.Contenders, contest.Contender{Name: l.name + ", " + way, Run: func(ctx context.Context) (contest.Sample, error) {
				rate, err := l.rate(ctx, d, way, each)
				return contest.Sample{"a second": rate}, err
			}})
		}
		c.Goals = append(c.Goals, contest.Goal{Figure: "a second", Name: l.name + ", lent", Peer: l.name + ", incr", Least: leastGain})
	}
	missed, err := c.Run(ctx)
	return errors.Join(missed, err)
}

// languages compiles Java first.
func languages(ctx context.Context, folder string) ([]language, error) {
	const clients = "../clients/"
	//nolint:gosec // It runs the programs that its user names.
	java := exec.CommandContext(ctx, "javac", "-d", folder, clients+"java/Snowfence.java", "lending/Rates.java")
	if out, err := java.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	client, err := filepath.Abs(clients + "javascript/snowfence.mjs")
	return []language{
		{"Python", []string{"env", "PYTHONPATH=" + clients + "python", "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", "lending/rates.py"}},
		{"JavaScript", []string{"node", "lending/rates.mjs", client}},
		{"Java", []string{"java", "-cp", folder, "Rates"}},
	}, err
}

func (l language) rate(ctx context.Context, d *serving.Process, way string, each time.Duration) (float64, error) {
	_, port, err := net.SplitHostPort(d.Addresses["redis"])
	if err != nil {
		return 0, err
	}
	//nolint:gosec // It runs the programs that its user names.
	c := exec.CommandContext(ctx, l.command[0], append(l.command[1:], way, fmt.Sprint(each.Seconds()), d.URL(), port)...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
}
