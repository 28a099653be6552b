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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

// Store is a client of one namespace of one cluster. It is safe for concurrent use. It connects again by itself.
type Store struct {
	config Config
	place  place
	leases string // the path of the namespace's Leases
	writer string // the HOLDER that kubectl shows
	sender http.RoundTripper
	unused func() // closes idle connections
	life   *storeclient.Life

	mu     sync.Mutex // guards the fields below
	anchor string     // the id of the store; empty until one was seen
	paused time.Time  // until when the server wants no request
}

// OpenURL opens the store that a URL means: [ParseURL], then [Open].
func OpenURL(ctx context.Context, url string) (*Store, error) {
	return storeurl.Open(ctx, url, ParseURL, Open)
}

// Open reads from the namespace that a config means; it writes nothing. An error is returned that names the field or the
// file if the config is wrong, or that shows why the server could not be used. ctx bounds the attempt, and nothing after
// it; it takes 10 seconds at the most.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := c.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err = s.findAnchor(ctx)
	if err == nil {
		err = s.judge(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kubernetesstore: open %s: %w", s.Name(), err), s.Close())
	}
	return s, nil
}

// client returns a store that has asked nothing yet.
func (c Config) client() (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // it is for people
	s := &Store{config: c, life: storeclient.Begin(), writer: cmp.Or(host, "unknown") + "/" + strconv.Itoa(os.Getpid())}
	if s.place, err = c.locate(); err == nil {
		s.sender, s.unused, err = s.place.connect()
	}
	if err != nil {
		return nil, fmt.Errorf("kubernetesstore: %w", err)
	}
	s.leases = "/apis/coordination.k8s.io/v1/namespaces/" + s.place.namespace + "/leases"
	return s, nil
}

// Get implements [store.Store]. It asks for no resourceVersion: then the API server reads from etcd, by a quorum. That
// a register is not found is believed only of the store that was opened; see anchor.go.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	l, err := s.get(ctx, leaseName(s.config.Prefix, key))
	if errors.Is(err, store.ErrNotFound) {
		if _, err = s.findAnchor(ctx); err == nil {
			return store.Entry{}, store.ErrNotFound
		}
	}
	if err != nil {
		return store.Entry{}, fmt.Errorf("kubernetesstore: get: %w", err)
	}
	e, err := s.entry(l)
	if err == nil && e.Key != key {
		err = fmt.Errorf("kubernetesstore: Lease %s has key %q: %w", l.Name, e.Key, store.ErrDamaged)
	}
	return e, err
}

// get reads a Lease, or returns [store.ErrNotFound] if the server reports that there is none of that name.
func (s *Store) get(ctx context.Context, name string) (*coordination.Lease, error) {
	l := &coordination.Lease{}
	err := s.read(ctx, s.leases+"/"+name, l)
	if no := refusal(err); no.Reason == meta.StatusReasonNotFound && no.Details != nil && no.Details.Name == name {
		return l, store.ErrNotFound
	}
	return l, err
}

// Swap implements [store.Store]. A register is created by POST of its one name, and changed by a JSON patch that tests
// both parts of its version. The API server may judge a patch by a Lease from its cache. But its transaction with etcd
// compares the revision of that Lease, so nothing newer is written over.
//
// The request is sent once. A copy that a proxy delivers meets another version and is rejected; a
// rejected change is looked at. After a rollback a late copy can take effect. It has the same token
// then, but the resource version that the server gives at that time. RFC 9110 (9.2.2) lets no proxy
// repeat a POST or a PATCH.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(store.ValidateKey(key), store.ValidateValue(value), s.life.Usable(ctx)); err != nil {
		return "", err
	}
	token, resource, _ := strings.Cut(string(prev), ".")
	if prev != "" && (!storeclient.IsToken(token) || resource == "") {
		return "", store.ErrConflict // no register ever had it
	}
	drawn, err := storeclient.DrawToken(s.config.Rand)
	id := ""
	if err == nil && prev == "" {
		id, err = s.castAnchor(ctx, drawn)
	}
	if err != nil {
		return "", fmt.Errorf("kubernetesstore: swap: %w", err)
	}
	next, after := newLease(s.config.Prefix, id, key, drawn.String(), value, s.writer), &coordination.Lease{}
	if prev == "" {
		err = s.send(ctx, http.MethodPost, s.leases, next, after)
	} else {
		err = s.send(ctx, http.MethodPatch, s.leases+"/"+next.Name, patch(token, resource, next), after)
	}
	if err != nil {
		return s.look(ctx, key, prev, drawn.String(), err)
	}
	e, err := s.entry(after)
	if err != nil || e.Key != key || !strings.HasPrefix(string(e.Version), drawn.String()) {
		return "", errors.Join(errors.New("kubernetesstore: swap: the server has answered with another register"), err)
	}
	return e.Version, nil
}

// look returns the outcome of a swap that failed. Only a rejection by the API server is final: the name
// is taken (409), a test failed or the Lease would be invalid (422), or there is no such Lease (404).
// All else leaves the outcome unknown, also that a server was too busy (429): the caller settles it.
//
// After a rejection the register decides. The swap's own token means that a copy came first: the API server's client of
// etcd can send a transaction again. The version from before means another reason. Any other version is a conflict.
func (s *Store) look(ctx context.Context, key string, prev store.Version, token string, failure error) (store.Version, error) {
	failure = fmt.Errorf("kubernetesstore: swap: %w", failure)
	no := refusal(failure)
	if no.Reason == "" || !slices.Contains([]int32{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusNotFound}, no.Code) {
		return "", failure
	}
	e, err := s.Get(ctx, key)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return "", fmt.Errorf("%w, after %w", err, failure)
	case strings.HasPrefix(string(e.Version), token):
		return e.Version, nil
	case e.Version == prev:
		return "", failure
	}
	return "", store.ErrConflict
}

// List implements [store.Store]. It reads page by page in the order of the names. When the server has forgotten the
// revision of the first page, the list goes on with a later one, behind the last name. A server that lists in another
// order, as kine did by revision, is refused: which Leases lie behind a name is unknown there.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.List(prefix, func(yield func(store.Entry) bool) error {
		query := url.Values{"labelSelector": {prefixLabel + "=" + s.config.Prefix}, "limit": {"500"}}
		at, last, forgotten := "", "", false // at is the name before in this list, last the greatest of all
		for {
			var leases coordination.LeaseList
			err := s.read(ctx, s.leases+"?"+query.Encode(), &leases)
			if gone := refusal(err); gone.Code == http.StatusGone && !forgotten {
				query.Set("continue", gone.Continue) // empty means from the beginning
				at, forgotten = "", true
				continue
			}
			if err != nil {
				return fmt.Errorf("kubernetesstore: list: %w", err)
			}
			for i := range leases.Items {
				l := &leases.Items[i]
				if l.Name <= at {
					return fmt.Errorf("kubernetesstore: list: the server lists out of order: %s after %s: update kine", l.Name, at)
				}
				at = l.Name
				key := l.Annotations[keyAnnotation]
				if l.Name <= last || key != "" && !strings.HasPrefix(key, prefix) {
					continue
				}
				e, err := s.entry(l)
				if err != nil || !yield(e) {
					return err
				}
				last = l.Name
			}
			if leases.Continue == "" {
				return nil
			}
			query.Set("continue", leases.Continue)
			forgotten = false
		}
	})
}

// Traits implements [store.Store].
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	return s.life.Traits(ctx, store.Traits{Engine: "kubernetes", Durable: s.config.Loss == 0, Loss: s.config.Loss})
}

// Close implements [store.Store].
func (s *Store) Close() error { return s.life.End(func() error { s.unused(); return nil }) }

// Name implements [store.Named].
func (s *Store) Name() string {
	at := s.place.base.JoinPath(s.place.namespace)
	return storeurl.Name("kubernetes", []string{at.Host}, at.Path, "prefix", s.config.Prefix)
}

// String returns the config, which has no secret.
func (s *Store) String() string { return fmt.Sprintf("%+v", s.config) }
