package restored

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/store"
)

// Counters finds each counter of a namespace that is gone, or would give a number again. The generators are those
// of the configuration.
func (k *Known) Counters(ctx context.Context, s store.Store, namespace string, generators map[string]config.Generator) (found []roster.Finding, err error) {
	for _, text := range k.Numbers {
		name, last, _ := strings.Cut(text, "=")
		key := "counter/" + namespace + "/" + name
		wrong := func(limit string) ([]roster.Finding, error) {
			return nil, snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("last-number %q: %s", text, limit))
		}
		if name == "" || last == "" {
			return wrong("must be NAME=NUMBER, or of a daily sequence NAME=DATE:NUMBER or NAME=TEXT")
		}
		c, err := counter.Show(ctx, s, namespace, name)
		switch g, configured := generators[name]; {
		case errors.Is(err, store.ErrNotFound) && configured && !builtin.Counts(g.Kind):
			return wrong(fmt.Sprintf("generator %s is of kind %s, without a counter in the store, so it can't be compared: see docs/restoring.md", name, g.Kind))
		case errors.Is(err, store.ErrNotFound):
			found = append(found, older(key, "counter %s gave %s, and its record is gone: see docs/restoring.md", name, last))
		case err != nil && (c.Name != "" || errors.Is(err, store.ErrDamaged)):
			found = append(found, older(key, "counter %s gave %s, and can't be compared: %v: see docs/restoring.md", name, last, err))
		case err != nil:
			return nil, err
		default:
			option := ""
			date, greatest, ok := given(c, last)
			if !ok {
				return wrong(fmt.Sprintf("must be a number, or for a daily sequence DATE:NUMBER or a whole text: counter %s is a %s", name, c.Kind))
			}
			if date != "" {
				option = " --date " + date
			}
			if again(c, date, greatest) {
				found = append(found, older(key, "counter %s gave %s, and the store would give it again: run 'snowfence counters set %s %d%s%s'", name, last, name, greatest+1, option, k.Where))
			}
		}
	}
	return found, nil
}

// given reads a number of a counter. That of a daily sequence is DATE:NUMBER, or a text that ends in both.
func given(c counter.Info, last string) (date string, number int64, ok bool) {
	if c.Digits > 0 {
		parts := regexp.MustCompile(fmt.Sprintf(`(\d{8})(?::(\d+)|(\d{%d}))$`, c.Digits)).FindStringSubmatch(last)
		if parts == nil {
			return "", 0, false
		}
		date, last = parts[1], parts[2]+parts[3]
		if _, err := time.Parse("20060102", date); err != nil {
			return "", 0, false
		}
	}
	n, err := strconv.ParseUint(last, 10, 63)
	return date, int64(n), err == nil
}

// again reports whether a counter would give a number again. No date is begun that is too old.
func again(c counter.Info, date string, number int64) bool {
	if at := slices.IndexFunc(c.Lanes, func(l counter.Lane) bool { return l.Name == date }); at >= 0 {
		return c.Lanes[at].Next <= number
	}
	_, err := c.Raised(date, number)
	return !errors.As(err, new(*counter.DateError))
}
