package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
)

// The sources of check and of merge-check may have options of their own.

// streams are the sources -#key=value: standard input, with options. What begins so
// is taken for a flag, so it is one, which notes between which arguments it stood.
type streams struct {
	flags  *pflag.FlagSet
	places []string
	before []int // how many arguments
}

// add adds the flag to a verb.
func (s *streams) add(cmd *cobra.Command) {
	s.flags = cmd.Flags()
	s.flags.VarP(s, "standard-input", "#", "standard input as a source, with options")
	s.flags.Lookup("standard-input").Hidden = true
}

func (*streams) String() string { return "" }
func (*streams) Type() string   { return "OPTIONS" }

func (s *streams) Set(text string) error {
	s.places = append(s.places, "-#"+text)
	s.before = append(s.before, s.flags.NArg())
	return nil
}

// among returns the arguments with the streams where they stood.
func (s *streams) among(args []string) []string {
	all := slices.Clone(args)
	for i, place := range s.places {
		all = slices.Insert(all, s.before[i]+i, place)
	}
	return all
}

// placesOf reads the sources that a command line names. The error is one of usage.
func placesOf(args []string) ([]idsource.Place, error) {
	if len(args) == 0 {
		return nil, errors.New("needs a source: a file, - for standard input, or the URL of a database")
	}
	places := make([]idsource.Place, len(args))
	for i, arg := range args {
		var err error
		if places[i], err = idsource.ParsePlace(arg); err != nil {
			return nil, err
		}
	}
	return places, oneStream(places)
}

// oneStream refuses standard input for two sources.
func oneStream(places []idsource.Place) error {
	streams := 0
	for _, place := range places {
		if place.Name == "-" {
			streams++
		}
	}
	if streams > 1 {
		return errors.New("standard input can be read once only, and - is given several times")
	}
	return nil
}

// sourceFault marks an error about reading ids with the exit code that it ends in.
// Exit code 1 is a finding: what kept ids from being read has another.
func sourceFault(cmd *cobra.Command, err error) error {
	switch {
	case as[reported](err):
		return err
	case snowfence.ClassOf(err) == snowfence.ClassUsage:
		return usage(cmd, err)
	}
	return unavailable(err)
}
