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
	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

// Config sets which folder to open and how.
type Config struct {
	// Dir is the store's folder. It must be on a local file system.
	Dir string

	// Existing refuses to create a store: Dir must hold one already. For a folder
	// that is missing or empty an error that is [store.ErrNoStore], and
	// fs.ErrNotExist, is returned, and nothing is made. Set it to read others' registers, and where an
	// empty folder can only mean that the right one is not mounted.
	Existing bool

	// Clock passes the wait for the lock of an earlier version, when a folder of format 1
	// is taken over. Nil means the system's.
	Clock snowfence.Clock

	// Rand gives the random bytes of versions, 16 for each. Nil means
	// crypto/rand. It must not repeat itself, in this process or another, because versions would.
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

// Name names the store, as [Store.Name] does: by its folder, absolute and after symbolic links. The
// links of a missing folder are not followed.
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
// ErrForeign, one on a file system that is not known to be local with ErrNetwork, and one that is
// damaged or too new with ErrDamaged or ErrNewer; these name the path.
//
// A folder of format 1 is taken over: processes of earlier versions that have it open get
// ErrReplaced, or an error that is like it, from then on. ctx ends the wait for such a
// process that is just writing.
//
// Any number of processes may open one folder, and a process may open it more
// than once.
func Open(ctx context.Context, c Config) (*Store, error) { return openAt(ctx, c, disk.SystemAt) }

// openAt opens a store as Open does, on the file system that at returns.
func openAt(ctx context.Context, c Config, at func(string) (disk.System, error)) (*Store, error) {
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
	d, err := disk.Open(path, !c.Existing)
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
func openOn(ctx context.Context, d disk.Folder, path string, c Config) (*Store, error) {
	s := &Store{
		disk:   d,
		path:   path,
		clock:  cmp.Or(c.Clock, snowfence.SystemClock()),
		random: c.Rand,
		life:   storeclient.Begin(),
		calls:  make(chan struct{}, mostCalls),
	}
	format, err := s.inspect(c.Existing)
	if err == nil && format != markerFormat {
		err = s.prepare(ctx)
	}
	if err == nil {
		// The marker may have been put there by a process that was killed
		// before it could make that durable.
		err = s.syncFolder(".")
	}
	if err != nil {
		return nil, errors.Join(s.explain(err), s.Close())
	}
	s.named = Config{Dir: path}.Name()
	return s, nil
}

// inspect returns the format of the folder's store, 0 for an empty folder, and an error if
// the folder is not a store and may not become one. It writes nothing: nothing belongs into
// somebody else's folder. So another process may just be creating the store. The marker is
// looked for last: it shows that the earlier content is not a stranger's.
func (s *Store) inspect(existing bool) (format int, err error) {
	foreign := s.checkForeign()
	format, err = s.findMarker()
	switch {
	case format > 0 || err != nil:
		return format, err
	case foreign == nil && existing:
		return 0, noStore("")
	}
	return 0, foreign
}

// noStore is the error about a folder that must hold a store, and is missing or
// empty.
func noStore(path string) error { return &FileError{Path: path, Err: store.ErrNoStore} }

// findMarker returns the format of the folder's marker, and 0 if there is none. A marker
// of any other kind is an error.
func (s *Store) findMarker() (int, error) {
	// A newer marker may be longer; its head shows the format.
	content, err := s.disk.Read(markerName, 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return parseMarker(content)
}

// checkForeign returns a *FileError if a folder without a marker holds anything that a
// creation does not leave behind when it is cut short. Registers without a marker are the remains of a
// store, and unfit for a fresh one.
func (s *Store) checkForeign() error {
	names, err := s.disk.Names(".")
	if err != nil {
		return err
	}
	begun := false
	for _, name := range names {
		switch {
		case name == registersName:
			begun = true
		case name == lockName, name == ignoredName, isMarkerCopy(name), strings.HasPrefix(name, lockName+unfinished):
		default:
			return foreign("", "it is not empty, it holds %q", name)
		}
	}
	if !begun {
		return nil
	}
	folders, err := s.disk.Names(registersName)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		folder = registersName + "/" + folder
		inside, err := s.disk.Names(folder)
		if err != nil {
			return err
		}
		for _, name := range inside {
			if strings.HasSuffix(name, registerSuffix) || strings.HasSuffix(name, earlierSuffix) {
				return damaged(markerName, "it is missing, yet there are registers: %s", folder+"/"+name)
			}
		}
	}
	return nil
}
