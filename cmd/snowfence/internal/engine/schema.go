package engine

import (
	"strings"

	"snowfence.example/snowfence/store/natsstore"
	"snowfence.example/snowfence/store/sqlstore"
)

// Schema returns what has to be made by hand in the store that the URL names,
// where the program may not make it: a statement in SQL, a stream's
// configuration. It is empty for engines that need nothing of the kind. It
// connects to nothing. A *[URLError] is returned for a URL that names no store.
func Schema(storeURL string) (string, error) {
	if err := Check(storeURL); err != nil {
		return "", err
	}
	scheme, _, _ := strings.Cut(strings.ToLower(storeURL), ":")
	switch scheme {
	case "postgres", "postgresql", "mysql", "mariadb":
		address, err := sqlstore.ParseURL(storeURL)
		if err != nil {
			return "", err
		}
		return sqlstore.DDL(address.Dialect, address.Table)
	case "nats":
		config, err := natsstore.ParseURL(storeURL)
		if err != nil {
			return "", err
		}
		return natsstore.BucketJSON(config)
	}
	return "", nil
}
