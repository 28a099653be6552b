package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"snowfence.example/snowfence/internal/sim"
)

// state is how far a long run has come. It is written after each block of seeds,
// in place of the last one, so that an interrupted run goes on.
type state struct {
	Version string  `json:"version"` // of package sim
	From    uint64  `json:"from"`    // the first seed
	Done    uint64  `json:"done"`    // how many from there on broke no rule
	Seconds float64 `json:"seconds"` // that they took
	Tally   sim.Tally
}

// load reads the state, or returns a new one if there is none or no file is
// named. An error is returned for a state of other rules, or of other seeds.
func load(file string, from uint64) (state, error) {
	s := state{Version: sim.Version(), From: from}
	if file == "" {
		return s, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	var found state
	if err := json.Unmarshal(text, &found); err != nil {
		return s, fmt.Errorf("read state %s: %w", file, err)
	}
	switch {
	case found.Version != s.Version:
		return s, fmt.Errorf("state %s is of version %s of the simulation, and this is %s: remove it to begin anew", file, found.Version, s.Version)
	case found.From != from:
		return s, fmt.Errorf("state %s begins at seed %d: must be %d, as -from says", file, found.From, from)
	}
	return found, nil
}

// save puts the state in place of the one before, whole or not at all.
func (s *state) save(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	next := file + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return os.Rename(next, file)
}
