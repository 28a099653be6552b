package idsource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// pathFault is an error about a path, with the path as it may be shown. Where there
// is no such file, what looks like an option may have been meant for one.
func pathFault(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if wrong := unknownOption(name, "is none, and no file has the whole name"); wrong != nil {
			return wrong
		}
	}
	var fault *fs.PathError
	if errors.As(err, &fault) && fault.Path == name {
		return &fs.PathError{Op: fault.Op, Path: Shown(name), Err: fault.Err}
	}
	return err
}

// formatOf returns the format of a file or stream.
func formatOf(name string, o Options) (Format, error) {
	if scheme, _, ok := strings.Cut(name, "://"); ok && !strings.ContainsAny(scheme, "/.") {
		return "", fmt.Errorf("%s://: ids are read from files, standard input, postgres:// and mysql://", Shown(scheme))
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
		return "", &OptionError{"column", fmt.Sprintf("%s: must not be given with --format %s", Shown(name), format)}
	}
	return format, nil
}
