package text

import (
	"fmt"
	"strings"
)

// DidYouMean returns `; did you mean "x"?` with the known name that is closest to what
// was written, or nothing when none is close. A name that begins with it is close too.
func DidYouMean(written string, known []string) string {
	best, bestDistance := "", max(2, len(written)/3)+1
	for _, name := range known {
		d := distance(written, name)
		if len(written) >= 3 && strings.HasPrefix(name, written) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the Levenshtein distance: how many bytes must be added, dropped
// or changed to make one text of the other. Long texts count as far apart.
func distance(a, b string) int {
	const long = 64
	if len(a) > long || len(b) > long {
		return long
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
