package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/localdisk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

// Config says which folder to open and how.
type Config struct {
	// Dir is the store's folder. It must be on a local file system.
	Dir string

	// Existing refuses to create a store: Dir must hold one already. For a folder
	// that is missing or empty an error that is [store.ErrNoStore], and
	// fs.ErrNotExist, is returned, and nothing is made. Set it to read what others
	// wrote, and where an empty folder can only mean that the right one is not
	// mounted.
	Existing bool

	// Clock passes the waits for the lock. Nil means the system's.
	Clock snowfence.Clock

	// Rand gives the random bytes of versions, 16 for each. Nil means
	// crypto/rand. It must never repeat itself, in this process or another, or
	// versions do.
	Rand io.Reader
}

// OpenURL opens the store that a URL means: [ParseURL], then [Open].
func OpenURL(ctx context.Context, url string) (*Store, error) {
	return storeurl.Open(ctx, url, ParseURL, Open)
}

// ParseURL returns the config that a URL means: file:relative/path, file:/path or
// file:///path. The path is taken as it is: a percent sign is a percent sign. A path that was
// hardly meant as it is written, such as ~/ids or $HOME/ids, is refused; [Open] takes any.
func ParseURL(url string) (Config, error) {
	scheme, path, ok := strings.Cut(url, ":")
	if !ok || !strings.EqualFold(scheme, "file") {
		return Config{}, errors.New("filestore: URL: must be file:/path")
	}
	if authority, ok := strings.CutPrefix(path, "//"); ok {
		host, rest, _ := strings.Cut(authority, "/")
		if host != "" && host != "localhost" {
			return Config{}, errors.New("filestore: URL: must name no host: write file:/path")
		}
		path = "/" + rest
	}
	if strings.Trim(path, "/") == "" {
		return Config{}, errors.New("filestore: URL: must name a directory: write file:/path")
	}
	if err := storeurl.CheckFolder(path); err != nil {
		return Config{}, fmt.Errorf("filestore: URL: path %w", err)
	}
	if strings.Contains(path, "?") {
		return Config{}, errors.New("filestore: URL: must have no ?: file: has no options")
	}
	return Config{Dir: path}, nil
}

// Name names the store, as [Store.Name] does: by its folder, absolute and after symbolic links. Those of a
// folder that is not there yet are not followed.
func (c Config) Name() string {
	path, err := filepath.Abs(c.Dir)
	if err != nil {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return "file:" + path
}

// Open opens the store in the config's folder. A folder that is missing or empty
// becomes a new store. A folder that holds anything else is refused with
// ErrForeign, one on a network file system with ErrNetwork, and one that is
// damaged or too new with ErrDamaged or ErrNewer; these name the path. ctx ends the
// wait for another process that is creating the same store.
//
// Any number of processes may open one folder, and a process may open it more
// than once.
func Open(ctx context.Context, c Config) (*Store, error) { return openAt(ctx, c, localdisk.At) }

// openAt opens a store as Open does, on the file system that at says.
func openAt(ctx context.Context, c Config, at func(string) (localdisk.System, error)) (*Store, error) {
	path, err := filepath.Abs(c.Dir)
	if err != nil || c.Dir == "" {
		return nil, fmt.Errorf("filestore: folder %q: must be a path: %w", c.Dir, errors.Join(err, fs.ErrInvalid))
	}
	system, err := at(path)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, ErrUnsupported
	case err != nil:
		return nil, fmt.Errorf("filestore: %s: find file system: %w", path, err)
	case system.Network:
		return nil, &FileError{Path: path, Err: ErrNetwork, Detail: system.Refusal() + ", and several hosts need another engine"}
	}
	d, err := openDisk(path, !c.Existing)
	if c.Existing && errors.Is(err, fs.ErrNotExist) {
		return nil, noStore(path)
	}
	if err != nil {
		return nil, fmt.Errorf("filestore: open %s: %w", path, err)
	}
	s, err := openOn(ctx, d, path, c)
	if err != nil {
		return nil, err
	}
	s.system = system
	return s, nil
}

// openOn opens the store on d, and creates it if it must and may. It closes d
// if it fails.
func openOn(ctx context.Context, d disk, path string, c Config) (*Store, error) {
	s := &Store{
		disk:   d,
		path:   path,
		clock:  cmp.Or(c.Clock, snowfence.SystemClock()),
		random: c.Rand,
		turn:   make(chan struct{}, 1),
		life:   storeclient.Begin(),
	}
	found, err := s.look(c.Existing)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	if err := d.openLock(); err != nil {
		return nil, errors.Join(s.wrap(err), d.close())
	}
	if !found {
		_, err = exclusive(ctx, s, func() (struct{}, error) { return struct{}{}, s.create() })
	}
	if err == nil {
		// The marker may have been put there by a process that was killed
		// before it could make that durable.
		err = s.syncFolder(".")
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.named = Config{Dir: path}.Name()
	return s, nil
}

// look reports whether the folder is a store, and returns an error if it is not and may
// not become one. It writes nothing: not even a lock belongs into somebody else's folder.
// So another process may just be creating the store. The marker is looked for last: it
// tells that what was there before is no stranger's.
func (s *Store) look(existing bool) (found bool, err error) {
	foreign := s.checkForeign()
	found, err = s.findMarker()
	switch {
	case found || err != nil:
		return found, err
	case foreign == nil && existing:
		return false, noStore(s.path)
	}
	return false, foreign
}

// noStore is the error about a folder that must hold a store, and is missing or
// empty.
func noStore(path string) error { return &FileError{Path: path, Err: store.ErrNoStore} }

// findMarker reports whether the folder is a store of this format. A marker of
// any other kind is an error.
func (s *Store) findMarker() (bool, error) {
	// A newer marker may be longer; its head tells.
	content, err := s.disk.readFile(markerName, 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, s.wrap(err)
	}
	return true, s.name(checkMarker(content), markerName)
}

// create makes an empty folder a store, or carries on where another process
// was killed while it did. It is called under the lock.
//
// The marker comes last, when all folders are durable. So a store with a marker is whole,
// and without one it holds no register yet.
func (s *Store) create() error {
	if found, err := s.findMarker(); found || err != nil {
		return err // another process was faster
	}
	if err := s.checkForeign(); err != nil {
		return err
	}
	folders := []string{registersName}
	for i := range shards {
		folders = append(folders, shardAt(i).folder())
	}
	for _, folder := range folders {
		if err := s.disk.mkdir(folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return s.wrap(err)
		}
	}
	for _, folder := range []string{registersName, "."} {
		if err := s.syncFolder(folder); err != nil {
			return err
		}
	}
	if err := s.disk.syncAncestors(); err != nil {
		return s.wrap(fmt.Errorf("sync the folders above: %w", err))
	}
	return s.replace(markerNewName, markerName, []byte(marker))
}

// checkForeign returns a *FileError if a folder without a marker holds anything that a
// creation does not leave behind when it is cut short. Registers without a marker are the
// remains of a store, and no place for a fresh one.
func (s *Store) checkForeign() error {
	names, err := s.disk.names(".")
	if err != nil {
		return s.wrap(err)
	}
	begun := false
	for _, name := range names {
		switch name {
		case registersName:
			begun = true
		case lockName, markerNewName, ignoredName:
		default:
			return &FileError{Path: s.path, Err: ErrForeign, Detail: fmt.Sprintf("it is not empty, it holds %q", name)}
		}
	}
	if !begun {
		return nil
	}
	folders, err := s.disk.names(registersName)
	if err != nil {
		return s.wrap(err)
	}
	for _, folder := range folders {
		folder = registersName + "/" + folder
		inside, err := s.disk.names(folder)
		if err != nil {
			return s.wrap(err)
		}
		for _, name := range inside {
			if strings.HasSuffix(name, suffix) {
				return &FileError{Path: s.at(markerName), Err: ErrDamaged,
					Detail: fmt.Sprintf("it is missing, yet there are registers: %s", s.at(folder+"/"+name))}
			}
		}
	}
	return nil
}
