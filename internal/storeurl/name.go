package storeurl

import (
	"slices"
	"strings"
)

// Name is the name of a store on servers: engine://host:port,host:port/path?key=value. The endpoints
// are in order, so it does not matter how they were listed. The pairs are keys and values; an empty
// value is left out. Secrets are not allowed.
func Name(engine string, endpoints []string, path string, pairs ...string) string {
	servers := make([]string, len(endpoints))
	for i, endpoint := range endpoints {
		servers[i] = strings.ToLower(endpoint)
	}
	slices.Sort(servers)
	var options []string
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			options = append(options, pair[0]+"="+pair[1])
		}
	}
	name := engine + "://" + strings.Join(slices.Compact(servers), ",") + "/" + strings.TrimPrefix(path, "/")
	if len(options) == 0 {
		return name
	}
	return name + "?" + strings.Join(options, "&")
}
