package kubernetesstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

const (
	// openLimit bounds Open when its context does not.
	openLimit = 10 * time.Second

	// page is how many registers List asks for at a time.
	page = 500

	notFound  = "NotFound"
	forbidden = "Forbidden"
)

// Store is a client of one namespace of one cluster. It is safe for concurrent use. It connects again by itself.
type Store struct {
	config Config
	place  place
	leases string // the path of the namespace's Leases
	writer string // the HOLDER that kubectl shows
	sender http.RoundTripper
	unused func() // closes idle connections
	pause  pause
	life   *storeclient.Life

	mu     sync.Mutex
	anchor string // the uid of the anchor; empty until one was seen
}

// OpenURL opens the store that a URL means: [ParseURL], then [Open].
func OpenURL(ctx context.Context, url string) (*Store, error) {
	return storeurl.Open(ctx, url, ParseURL, Open)
}

// Open reads from the namespace that a config means, and judges the server and the rights there; it writes nothing.
// An error is returned that names the field or the file if the config is wrong, or that says why the server could not
// be used. ctx bounds the attempt, and nothing after it; without a deadline it takes 10 seconds at the most.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	s := &Store{config: c, life: storeclient.Begin()}
	if s.place, err = c.locate(); err == nil {
		s.sender, s.unused, err = s.place.connect()
	}
	if err != nil {
		return nil, fmt.Errorf("kubernetesstore: %w", err)
	}
	s.leases = "/apis/coordination.k8s.io/v1/namespaces/" + s.place.namespace + "/leases"
	host, _ := os.Hostname() // it is for people
	s.writer = cmp.Or(host, "unknown") + "/" + strconv.Itoa(os.Getpid())
	if err := s.judge(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("kubernetesstore: open %s: %w", s.Name(), err), s.Close())
	}
	return s, nil
}

// Get implements [store.Store]. It asks for no resourceVersion: then the API server reads from etcd, by a quorum, and
// not from its cache. A register that is not found is believed only of the cluster that was opened.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	found, err := s.get(ctx, leaseName(s.config.Prefix, key))
	switch {
	case errors.Is(err, store.ErrNotFound):
		if _, err := s.findAnchor(ctx); err != nil {
			return store.Entry{}, fmt.Errorf("kubernetesstore: get: %w", err)
		}
		return store.Entry{}, store.ErrNotFound
	case err != nil:
		return store.Entry{}, fmt.Errorf("kubernetesstore: get: %w", err)
	}
	e, err := found.entry(s.config.Prefix)
	if err == nil && e.Key != key { // two keys of one hash
		err = fmt.Errorf("kubernetesstore: Lease %.253q of key %q: %w", found.Metadata.Name, e.Key, store.ErrDamaged)
	}
	return e, err
}

// get reads a Lease, or returns [store.ErrNotFound] if the server says that there is none of that name.
func (s *Store) get(ctx context.Context, name string) (l lease, err error) {
	err = s.read(ctx, s.leases+"/"+name, nil, &l)
	var status *statusError
	switch {
	case errors.As(err, &status) && status.Code == http.StatusNotFound && status.Reason == notFound && status.Details.Name == name:
		return l, store.ErrNotFound
	case err == nil && l.Metadata.Name != name:
		return l, errors.New("the server has answered with another object")
	}
	return l, err
}

// Swap implements [store.Store]. A register is created by POST of its one name, and changed by a JSON patch that tests
// both parts of its version. Either is one transaction of etcd, which compares the revision that the API server judged.
// So a test may be judged by a cached Lease, but nothing is written over a newer one.
//
// The request is sent once. Something between may deliver it again all the same. The copy finds that the version has
// changed, and is rejected: after a rejection the register decides whose version it has. After a rollback a late copy
// can take effect. It then has this token again, and the resource version that the server gives it at that time. Only a
// server whose count of revisions went back to the very same number would make it the same version, and the value of
// one version is always the same. TCP delivers no copy, and RFC 9110 (9.2.2) lets no proxy repeat a POST or a PATCH.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(store.ValidateKey(key), store.ValidateValue(value), s.life.Usable(ctx)); err != nil {
		return "", err
	}
	token, resource, known := parseVersion(prev)
	if prev != "" && !known {
		return "", store.ErrConflict // no register ever had it
	}
	drawn, err := storeclient.DrawToken(s.config.Rand)
	if err != nil {
		return "", fmt.Errorf("kubernetesstore: %w", err)
	}
	next, now := drawn.String(), spec{s.writer, microTime(storeclient.Now())}
	var after lease
	if prev == "" {
		if err := s.castAnchor(ctx); err != nil {
			return "", fmt.Errorf("kubernetesstore: swap: %w", err)
		}
		err = s.send(ctx, http.MethodPost, s.leases, own(), "application/json", newLease(s.config.Prefix, key, next, value, now), &after)
	} else {
		name := leaseName(s.config.Prefix, key)
		err = s.send(ctx, http.MethodPatch, s.leases+"/"+name, own(), "application/json-patch+json", patch(token, resource, next, value, now), &after)
	}
	if rejected(err) {
		return s.look(ctx, key, prev, next, err)
	}
	if err == nil {
		var e store.Entry
		if e, err = after.entry(s.config.Prefix); err == nil && (e.Key != key || !strings.HasPrefix(string(e.Version), next)) {
			err = errors.New("the server has answered with another register")
		}
		if err == nil {
			return e.Version, nil
		}
	}
	return "", fmt.Errorf("kubernetesstore: swap: %w", err)
}

// own is the query of a write: who manages the fields.
func own() url.Values { return url.Values{"fieldManager": {"snowfence"}} }

// rejected reports whether the API server says that it wrote nothing: the name is taken (409), a test failed or the
// Lease would be invalid (422), or there is no such Lease (404). It says the same for several reasons. All other
// errors leave the outcome unknown, also those of a server that was too busy (429): they are for the caller to settle.
func rejected(err error) bool {
	var status *statusError
	if !errors.As(err, &status) || status.Reason == "" {
		return false
	}
	return status.Code == http.StatusConflict || status.Code == http.StatusUnprocessableEntity || status.Code == http.StatusNotFound
}

// look reads the register after a swap was rejected, and says what became of the swap. The register's own token means
// that a copy of the request was there before: the API server's client of etcd can send a transaction again. The
// version from before means that the reason was another one. Any other version can't come from before, and the swap
// never fits again.
func (s *Store) look(ctx context.Context, key string, prev store.Version, next string, rejection error) (store.Version, error) {
	e, err := s.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%w, after a swap that was rejected: %w", err, rejection)
	case strings.HasPrefix(string(e.Version), next):
		return e.Version, nil
	case e.Version == prev:
		return "", fmt.Errorf("kubernetesstore: swap: %w", rejection)
	}
	return "", store.ErrConflict
}

// List implements [store.Store]. It reads page by page in the order of the names. The pages are of one revision. When
// the server has forgotten that one, the list goes on with a later one, behind the last name.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.List(prefix, func(yield func(store.Entry) bool) error {
		last, moved := "", true // moved says that a page came since the last that was forgotten
		for next := ""; ; {
			var leases struct {
				Metadata struct {
					Continue string `json:"continue"`
				} `json:"metadata"`
				Items []lease `json:"items"`
			}
			query := url.Values{"labelSelector": {prefixLabel + "=" + s.config.Prefix}, "limit": {strconv.Itoa(page)}}
			if next != "" {
				query.Set("continue", next)
			}
			err := s.read(ctx, s.leases, query, &leases)
			var status *statusError
			if errors.As(err, &status) && status.Code == http.StatusGone && moved {
				next, moved = status.Metadata.Continue, false
				continue
			}
			if err != nil {
				return fmt.Errorf("kubernetesstore: list: %w", err)
			}
			for _, l := range leases.Items {
				key := l.Metadata.Annotations[keyAnnotation]
				if l.Metadata.Name <= last || key != "" && !strings.HasPrefix(key, prefix) {
					continue
				}
				e, err := l.entry(s.config.Prefix)
				if err != nil || !yield(e) {
					return err
				}
				last = l.Metadata.Name
			}
			if next, moved = leases.Metadata.Continue, true; next == "" {
				return nil
			}
		}
	})
}

// Traits implements [store.Store].
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	return s.life.Traits(ctx, store.Traits{Engine: "kubernetes", Durable: s.config.Loss == 0, Loss: s.config.Loss})
}

// Close implements [store.Store].
func (s *Store) Close() error {
	return s.life.End(func() error { s.unused(); return nil })
}

// Name implements [store.Named].
func (s *Store) Name() string {
	base := s.place.base
	return storeurl.Name("kubernetes", []string{base.Host}, strings.Trim(base.Path, "/")+"/"+s.place.namespace, "prefix", s.config.Prefix)
}

// String returns the store's config, which has no secret.
func (s *Store) String() string { return fmt.Sprintf("%+v", s.config) }

// GoString is String, so that %#v shows no more.
func (s *Store) GoString() string { return s.String() }
