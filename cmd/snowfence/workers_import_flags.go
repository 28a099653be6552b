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
	"snowfence.example/snowfence/cmd/snowfence/internal/text"
)

// workerList is what --workers names.
type workerList struct {
	all     bool
	numbers []int64
}

// parseWorkerList reads numbers and ranges, 0-31,40, or all.
func parseWorkerList(list string) (workerList, error) {
	if list == "all" {
		return workerList{all: true}, nil
	}
	ranges, err := text.ParseRanges(list)
	if err != nil {
		return workerList{}, fmt.Errorf("%w, or all", err)
	}
	var l workerList
	for _, r := range ranges {
		if r.Last-r.First >= takeover.MaxWorkers-int64(len(l.numbers)) {
			return l, fmt.Errorf("%q: that makes more than %d worker ids", r, takeover.MaxWorkers)
		}
		for n := r.First; n <= r.Last; n++ {
			l.numbers = append(l.numbers, n)
		}
	}
	return l, nil
}

// parseLastIDs reads ids with commas between several.
func parseLastIDs(list string) ([]snowfence.ID, error) {
	var ids []snowfence.ID
	for word := range strings.SplitSeq(list, ",") {
		id, err := snowfence.ParseUnsigned(word)
		if err != nil {
			return nil, errors.New(text.Message(err))
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func parseServers(list string) ([]string, error) {
	servers := strings.Split(list, ",")
	if slices.Contains(servers, "") {
		return nil, errors.New("must be host:port, with commas between several")
	}
	return servers, nil
}

func parsePath(path string) (string, error) {
	if !strings.HasPrefix(path, "/") || path != "/" && strings.HasSuffix(path, "/") {
		return "", errors.New("must begin with a slash and not end with one")
	}
	return path, nil
}

func parseDatacenter(number string) (*int64, error) {
	n, err := strconv.ParseUint(number, 10, 62)
	if err != nil {
		return nil, fmt.Errorf("%q: must be a number", number)
	}
	datacenter := int64(n)
	return &datacenter, nil
}

func parseTime(at string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return t, errors.New("must be a time with its zone, such as 2026-11-21T10:00:00Z or 2026-11-21T18:00:00+08:00")
	}
	return t, nil
}
