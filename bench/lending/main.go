// Command lending measures the lending of worker ids, each with the daemon on the same machine.
//
//	make bench-lending
//	go run ./lending -only crowd -borrowers 10000 -for 60s
//
// The measurement languages tells how many ids a second one process makes in several languages: with a borrowed worker id, by a
// request for each id, and by a request for a hundred; and in Go by package fence. Each figure is the median of interleaved
// rounds. The goal is that next with a borrowed worker id gives twenty times as many as an INCR each.
//
// The measurement crowd shows the load of 10,000 borrowers on one daemon and etcd. The goal is that no
// borrower loses its lease.
package main

import (
	"bufio"
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

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/bench/serving"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/filestore"
)

// leastGain is the goal: how many times the rate of INCR a borrower has.
const leastGain = 20

func main() {
	program := flag.String("program", "../.bin/snowfence", "the program whose daemon lends")
	rounds := flag.Int("rounds", 3, "interleaved rounds; the median counts")
	each := flag.Duration("each", 2*time.Second, "time of one measurement")
	only := flag.String("only", "languages,crowd", "the measurements to take")
	c := &crowd{}
	flag.IntVar(&c.borrowers, "borrowers", 10_000, "borrowers of the crowd, at most 16,000")
	flag.DurationVar(&c.within, "within", time.Minute, "time over which the crowd's claims are spread")
	flag.DurationVar(&c.steady, "for", time.Minute, "time of the measurement while the whole crowd borrows")
	flag.Parse()
	var missed []string
	var err error
	for name := range strings.SplitSeq(*only, ",") {
		var more []string
		switch name {
		case "languages":
			more, err = run(context.Background(), *program, *rounds, *each)
		case "crowd":
			more, err = c.run(context.Background(), *program)
		default:
			err = fmt.Errorf("-only %s: must be languages, crowd, or both with a comma", *only)
		}
		if missed = append(missed, more...); err != nil {
			break
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lending:", err)
		os.Exit(1)
	}
	if len(missed) > 0 {
		fmt.Fprintln(os.Stderr, "missed:", strings.Join(missed, ", "))
		os.Exit(1)
	}
}

// ways are how a process gets its ids, in the order of the table.
func ways() []string { return []string{"lent", "filled", "incr", "hundred"} }

// contender measures one language.
type contender struct {
	name string
	rate func(ctx context.Context, way string, each time.Duration) (float64, error)
}

// lendAll has a daemon lend all of its worker ids.
func lendAll() []string { return []string{"SNOWFENCE_GENERATORS_DEFAULT_LEND_SHARE=100"} }

func run(ctx context.Context, program string, rounds int, each time.Duration) (missed []string, err error) {
	folder, err := os.MkdirTemp("", "snowfence-bench-lending-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	d, err := serving.Daemon(ctx, program, lendAll(), "--data", folder, "--http", serving.Free)
	if err != nil {
		return nil, err
	}
	defer d.Stop()
	all, err := contenders(ctx, folder, d)
	if err != nil {
		return nil, err
	}
	rates := map[string][]float64{}
	for range rounds {
		for _, c := range all {
			for _, way := range ways() {
				rate, err := c.rate(ctx, way, each)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", c.name, way, err)
				}
				rates[c.name+way] = append(rates[c.name+way], rate)
			}
		}
	}
	fmt.Printf("ids a second of one process, median of %d rounds of %s\n\n", rounds, each)
	fmt.Printf("%-12s %14s %14s %14s %14s %10s\n", "", "next", "fill of 100", "INCR each", "COUNT 100", "next/INCR")
	for _, c := range all {
		fmt.Printf("%-12s", c.name)
		for _, way := range ways() {
			fmt.Printf(" %14.0f", serving.Median(rates[c.name+way]))
		}
		gain := serving.Median(rates[c.name+"lent"]) / serving.Median(rates[c.name+"incr"])
		fmt.Printf(" %10.1f\n", gain)
		if gain < leastGain {
			missed = append(missed, fmt.Sprintf("%s %.1f of %d", c.name, gain, leastGain))
		}
	}
	return missed, nil
}

// contenders are the languages. Java is compiled first.
func contenders(ctx context.Context, folder string, d *serving.Process) ([]contender, error) {
	const clients = "../clients/"
	_, port, err := net.SplitHostPort(d.Addresses["redis"])
	if err != nil {
		return nil, err
	}
	//nolint:gosec // It runs the programs that its user names.
	java := exec.CommandContext(ctx, "javac", "-d", folder, clients+"java/Snowfence.java", "lending/Rates.java")
	if out, err := java.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	script := func(name string, environ []string, command ...string) contender {
		return contender{name, func(ctx context.Context, way string, each time.Duration) (float64, error) {
			//nolint:gosec // It runs the programs that its user names.
			c := exec.CommandContext(ctx, command[0], append(command[1:], way, fmt.Sprint(each.Seconds()), d.URL(), port)...)
			c.Env, c.Stderr = append(os.Environ(), environ...), os.Stderr
			out, err := c.Output()
			if err != nil {
				return 0, err
			}
			return strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		}}
	}
	client, err := filepath.Abs(clients + "javascript/snowfence.mjs")
	return []contender{
		script("Python", []string{"PYTHONPATH=" + clients + "python", "PYTHONDONTWRITEBYTECODE=1"}, "/usr/bin/python3", "lending/rates.py"),
		script("JavaScript", nil, "node", "lending/rates.mjs", client),
		script("Java", nil, "java", "-cp", folder, "Rates"),
		{"Go (fence)", func(ctx context.Context, way string, each time.Duration) (float64, error) {
			return native(ctx, filepath.Join(folder, "store"), d.Addresses["redis"], way, each)
		}},
	}, err
}

// native is the rate of this program: with a worker id of its own on the daemon's store, or by requests.
func native(ctx context.Context, store, address, way string, each time.Duration) (rate float64, err error) {
	s, err := filestore.Open(ctx, filestore.Config{Dir: store})
	if err != nil {
		return 0, err
	}
	h, err := fence.Open(ctx, fence.Config{Store: s})
	if err != nil {
		return 0, errors.Join(err, s.Close())
	}
	defer func() { err = errors.Join(err, h.Close(ctx), s.Close()) }()
	var dialer net.Dialer
	link, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	lines := bufio.NewReaderSize(link, 1<<16)
	asking := func(command string, replies int) func() error {
		return func() error {
			_, err := link.Write([]byte(command))
			for range replies {
				if err == nil {
					_, err = lines.ReadSlice('\n')
				}
			}
			return err
		}
	}
	batch := make([]snowfence.ID, 100)
	ask, ids := map[string]func() error{
		"lent":    func() error { _, err := h.Next(ctx); return err },
		"filled":  func() error { return h.Fill(ctx, batch) },
		"incr":    asking("INCR default\r\n", 1),
		"hundred": asking("ID.NEXT default COUNT 100\r\n", 201),
	}[way], 1
	if way == "filled" || way == "hundred" {
		ids = len(batch)
	}
	n, begun := 0, time.Now()
	for time.Since(begun) < each {
		for range 100 {
			if err := ask(); err != nil {
				return 0, err
			}
		}
		n += 100 * ids
	}
	return float64(n) / time.Since(begun).Seconds(), nil
}
