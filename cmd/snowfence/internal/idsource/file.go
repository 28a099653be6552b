package idsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// openFile opens a file or standard input.
func openFile(ctx context.Context, name string, o Options) (Source, error) {
	format, err := formatOf(name, o)
	if err != nil {
		return nil, err
	}
	in, err := openInput(ctx, name, o)
	if err != nil {
		return nil, err
	}
	switch format {
	case CSV:
		r, err := newRecords(in, o)
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		return r, nil
	case Binary, BinaryLittle:
		return newWords(in, o), nil
	default:
		return newLines(in, o), nil
	}
}

// formatOf returns the format of a file or stream.
func formatOf(name string, o Options) (Format, error) {
	if scheme, _, ok := strings.Cut(name, "://"); ok && !strings.ContainsAny(scheme, "/.") {
		return "", fmt.Errorf("%s://: ids are read from files, standard input, postgres:// and mysql://", scheme)
	}
	format := o.Format
	switch {
	case format != "":
	case o.Column != "":
		format = CSV
	default:
		format = Text
	}
	if o.Column != "" && format != CSV && o.Table == "" {
		return "", &OptionError{"column", fmt.Sprintf("must not be given with --format %s", format)}
	}
	return format, nil
}
