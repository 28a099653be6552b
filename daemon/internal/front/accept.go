package front

import (
	"cmp"
	"mime"
	"strconv"
	"strings"
)

// Preferred returns the media type that Accept headers rate highest, and the first of several with one rate. It returns
// all for */*, without a header, and for headers that can't be read.
func Preferred(accept []string, all string) string {
	text := strings.Join(accept, ",")
	switch text { // of most requests
	case "", "*/*":
		return all
	case "text/plain", "application/json":
		return text
	}
	best, most := all, 0.0
	for element := range strings.SplitSeq(text, ",") {
		mediaType, parameters, err := mime.ParseMediaType(element)
		if err != nil {
			continue
		}
		switch mediaType {
		case "*/*":
			mediaType = all
		case "text/*":
			mediaType = "text/plain"
		case "application/*":
			mediaType = "application/json"
		}
		quality, err := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		if family, _, ok := strings.Cut(mediaType, "/"); ok && family != "" && !strings.Contains(mediaType, "*") && err == nil && quality > most {
			best, most = mediaType, quality
		}
	}
	return best
}
