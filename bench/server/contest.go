package main

import (
	"context"
	"fmt"
	"time"

	"snowfence.example/snowfence/bench/serving"
)

// contest is some contenders whose runs are interleaved, and their goals.
type contest struct {
	title      string
	contenders []contender
	goals      []goal
}

// contender is one way of serving, under one load.
type contender struct {
	name string
	run  func(context.Context) (sample, error)
}

// sample is the result of one run. Zero is an unmeasured value.
type sample struct {
	rate float64       // a second: requests, or ids where a request has many
	cpu  time.Duration // of the server, for each
	tail time.Duration // 99.9 % of the requests took no longer
}

// goal is one contender's aim.
type goal struct {
	figure figure
	name   string
	peer   string  // the contender that it is compared with; none if the bound is absolute
	bound  float64 // for a rate the least, else the most
}

// figure is one number of a sample.
type figure string

const (
	rate figure = "rate"
	cpu  figure = "CPU a request"
	tail figure = "p99.9"
)

func (f figure) of(s sample) float64 {
	switch f {
	case rate:
		return s.rate
	case cpu:
		return s.cpu.Seconds()
	}
	return s.tail.Seconds()
}

// measure runs a contest and prints it.
func (b bench) measure(ctx context.Context, c contest) error {
	fmt.Printf("\n# %s (%d interleaved rounds)\n\n", c.title, b.rounds)
	runs := map[string][]sample{}
	for round := range b.rounds {
		for _, contender := range c.contenders {
			s, err := contender.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", contender.name, err)
			}
			fmt.Printf("round %-3d %-30s %s\n", round+1, contender.name, s)
			runs[contender.name] = append(runs[contender.name], s)
		}
	}
	for _, contender := range c.contenders {
		fmt.Printf("median    %-30s %s\n", contender.name, middle(runs[contender.name]))
	}
	for _, g := range c.goals {
		fmt.Println(g.judge(runs))
	}
	return nil
}

func (s sample) String() string {
	text := ""
	if s.rate > 0 {
		text = fmt.Sprintf("%11.0f a second", s.rate)
	}
	if s.cpu > 0 {
		text += fmt.Sprintf("%9.3f µs of the server", float64(s.cpu.Nanoseconds())/1e3)
	}
	if s.tail > 0 {
		text += fmt.Sprintf("%9.3f ms p99.9", float64(s.tail.Microseconds())/1e3)
	}
	return text
}

// judge compares the results with the goals.
func (g goal) judge(runs map[string][]sample) string {
	values := figures(g.figure, runs[g.name])
	subject := fmt.Sprintf("%s of %s", g.figure, g.name)
	if g.peer != "" {
		for i, s := range runs[g.peer] {
			values[i] /= g.figure.of(s)
		}
		subject += " to that of " + g.peer
	}
	reached, side := serving.Median(values), "at most"
	missed := reached > g.bound
	if g.figure == rate {
		side, missed = "at least", reached < g.bound
	}
	verdict := ""
	if missed {
		verdict = "  missed"
	}
	return fmt.Sprintf("goal      %s: %.4g, %s %.4g%s", subject, reached, side, g.bound, verdict)
}

// middle has the median of each figure.
func middle(runs []sample) sample {
	return sample{
		rate: serving.Median(figures(rate, runs)),
		cpu:  seconds(serving.Median(figures(cpu, runs))),
		tail: seconds(serving.Median(figures(tail, runs))),
	}
}

func figures(f figure, runs []sample) []float64 {
	values := make([]float64, len(runs))
	for i, s := range runs {
		values[i] = f.of(s)
	}
	return values
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
