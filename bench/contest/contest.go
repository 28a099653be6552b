// Package contest measures contenders in interleaved rounds, because on a shared machine only ratios of
// one run mean anything, and holds them against goals.
package contest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Contest is some contenders, and their goals.
type Contest struct {
	Title      string
	Rounds     int
	Contenders []Contender
	Goals      []Goal
}

// Contender is one way to do the work.
type Contender struct {
	Name string
	Run  func(context.Context) (Sample, error) // for one round
}

// Sample is the figures of one run, each by its unit, such as "ns an id".
type Sample map[string]float64

// Goal is one contender's aim.
type Goal struct {
	Figure, Name string
	Peer         string  // the contender that it is compared with; none if the bound is absolute
	Least, Most  float64 // the bound; neither if the ratio is only to be seen
}

// Run prints the medians, and the goals with their results. A ratio is the median of the ratios of the
// rounds: load that comes and goes is in both runs of a round. Missed has the goals that were missed by
// more than the noise of the run.
func (c Contest) Run(ctx context.Context) (missed, err error) {
	fmt.Printf("\n# %s (%d interleaved rounds)\n\n", c.Title, c.Rounds)
	runs := map[string][]Sample{}
	for range c.Rounds {
		for _, contender := range c.Contenders {
			s, err := contender.Run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contender.Name, err)
			}
			runs[contender.Name] = append(runs[contender.Name], s)
		}
	}
	for _, contender := range c.Contenders {
		fmt.Printf("%-34s", contender.Name)
		for _, figure := range slices.Sorted(maps.Keys(runs[contender.Name][0])) {
			middle, _ := Goal{Figure: figure, Name: contender.Name}.settle(runs)
			fmt.Printf("%16.3f %s", middle, figure)
		}
		fmt.Println()
	}
	for _, g := range c.Goals {
		missed = errors.Join(missed, g.judge(runs))
	}
	return missed, nil
}

// judge prints the result of a goal. An error is returned when it is missed.
func (g Goal) judge(runs map[string][]Sample) error {
	reached, noise := g.settle(runs)
	text := fmt.Sprintf("%s of %s", g.Figure, g.Name)
	if g.Peer != "" {
		text += " to that of " + g.Peer
	}
	text += fmt.Sprintf(": %.4g ± %.2g", reached, noise)
	missed := false
	if g.Least > 0 {
		text += fmt.Sprintf(", at least %.4g", g.Least)
		missed = reached+noise < g.Least
	}
	if g.Most > 0 {
		text += fmt.Sprintf(", at most %.4g", g.Most)
		missed = reached-noise > g.Most
	}
	if missed {
		text = "missed: " + text
	}
	fmt.Println(text)
	if missed {
		return errors.New(text)
	}
	return nil
}

// settle returns the median over the rounds and its noise: two standard errors of it. A median's standard
// error is 1.253 standard deviations by the root of n, and an interquartile range is 1.349 deviations.
func (g Goal) settle(runs map[string][]Sample) (middle, noise float64) {
	var values []float64
	for i, s := range runs[g.Name] {
		value := s[g.Figure]
		if g.Peer != "" {
			value /= runs[g.Peer][i][g.Figure]
		}
		values = append(values, value)
	}
	slices.Sort(values)
	n := len(values)
	spread := values[3*n/4] - values[n/4]
	return (values[(n-1)/2] + values[n/2]) / 2, 2 * 1.253 / 1.349 * spread / math.Sqrt(float64(n))
}
