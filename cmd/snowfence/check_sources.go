package main

import (
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
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

// optionsOf are the options of a source: the flags, as far as they are for such a
// source, and over them what stands behind its #. The error is an
// [idsource.PlaceError].
func (p program) optionsOf(place idsource.Place, flags idsource.Options) (idsource.Options, error) {
	o := flags
	format, ownFormat := place.Given["format"]
	_, ownColumn := place.Given["column"]
	_, ownTable := place.Given["table"]
	_, ownQuery := place.Given["query"]
	database := idsource.IsDatabase(place.Name)
	switch {
	case database:
		o.Separator, o.Gzip = 0, ""
		if ownTable || ownQuery {
			o.Format = "" // it is that of others
		}
	case !ownColumn && (ownFormat && format != string(idsource.CSV) || o.Table != "" && o.Format != "" && o.Format != idsource.CSV):
		o.Table, o.Query, o.Column = "", "", "" // the column is that of others
	default:
		o.Table, o.Query = "", ""
	}
	for _, key := range slices.Sorted(maps.Keys(place.Given)) {
		value := place.Given[key]
		limit := ""
		switch key {
		case "column":
			o.Column, o.Query = value, ""
		case "table":
			o.Table, o.Query = value, ""
		case "query":
			o.Query = value
			if !ownTable {
				o.Table = ""
			}
			if !ownColumn {
				o.Column = ""
			}
		case "format":
			o.Format = idsource.Format(value)
			limit = notOne(o.Format, idsource.Formats())
		case "encoding":
			o.Encoding = decode.Encoding(value)
			limit = notOne(o.Encoding, decode.EncodingNames())
		case "gzip":
			o.Gzip = idsource.Gzip(value)
			limit = notOne(o.Gzip, idsource.Gzips())
		case "separator":
			read, err := (&idSourceFlags{separator: value}).read(p)
			if o.Separator = read.Separator; err != nil {
				limit = "must be one character of ASCII and no quote, or tab"
			}
		}
		switch {
		case limit != "":
		case database && (key == "gzip" || key == "separator"):
			limit = "is for files and streams, and this is a database"
		case !database && (key == "query" || key == "table"):
			limit = "is for databases, and this is none"
		}
		if limit != "" {
			return o, &idsource.PlaceError{Place: idsource.Shown(place.Name), Field: "option " + key, Value: value, Limit: limit}
		}
	}
	return o, nil
}

// notOne is what a word must be that is none of some; empty if it is.
func notOne[T ~string](word T, words []T) string {
	if slices.Contains(words, word) {
		return ""
	}
	return "must be one of " + join(words, ", ")
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
