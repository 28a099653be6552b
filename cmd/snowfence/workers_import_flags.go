package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
)

// workerList is what --workers names.
type workerList struct {
	all     bool
	numbers []int64
}

// lastIDs is a flag that may be repeated, or have several ids with commas.
type lastIDs struct{ ids *[]snowfence.ID }

func (f *lastIDs) Type() string { return "ID" }

func (f *lastIDs) String() string {
	if f.ids == nil {
		return ""
	}
	texts := make([]string, len(*f.ids))
	for i, id := range *f.ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ",")
}

func (f *lastIDs) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		id, err := snowfence.ParseUnsigned(word)
		if err != nil {
			return errors.New(message(err))
		}
		*f.ids = append(*f.ids, id)
	}
	return nil
}

func parseServers(text string) ([]string, error) {
	servers := strings.Split(text, ",")
	if slices.Contains(servers, "") {
		return nil, errors.New("must be host:port, with commas between several")
	}
	return servers, nil
}

func parsePath(text string) (string, error) {
	if !strings.HasPrefix(text, "/") || text != "/" && strings.HasSuffix(text, "/") {
		return "", errors.New("must begin with a slash and not end with one")
	}
	return text, nil
}

func parseDatacenter(text string) (*int64, error) {
	n, err := parseWorkerNumber(text)
	return &n, err
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, errors.New("must be a time with its zone, such as 2026-11-21T10:00:00Z or 2026-11-21T18:00:00+08:00")
	}
	return t, nil
}

// parseWorkerList reads numbers and ranges: 0-31,40.
func parseWorkerList(text string) (workerList, error) {
	if text == "all" {
		return workerList{all: true}, nil
	}
	var l workerList
	for part := range strings.SplitSeq(text, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err := parseWorkerNumber(low)
		if err != nil {
			return l, err
		}
		last, err := parseWorkerNumber(high)
		switch {
		case err != nil:
			return l, err
		case last < first:
			return l, fmt.Errorf("%q: a range must not go down", part)
		case last-first >= takeover.MaxWorkers-int64(len(l.numbers)):
			return l, fmt.Errorf("%q: that makes more than %d worker ids", part, takeover.MaxWorkers)
		}
		for n := first; n <= last; n++ {
			l.numbers = append(l.numbers, n)
		}
	}
	return l, nil
}

func parseWorkerNumber(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		return 0, fmt.Errorf("%q: must be numbers and ranges of numbers, such as 0-31,40, or all", text)
	}
	return int64(n), nil
}
