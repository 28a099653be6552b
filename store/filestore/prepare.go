package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
)

// Waits between two tries for the lock of a process of an earlier version. Not waiting
// inside flock lets a context end the wait.
const (
	firstWait   = time.Millisecond
	longestWait = 16 * time.Millisecond
)

// prepare makes an empty folder a store, takes over one of format 1, or carries on where
// another process was stopped while it did. Any number of processes may do so at once.
//
// Programs of format 1 are shut out first. The marker of format 2 comes last, when all
// folders are durable. So a store with that marker is whole, and without any marker it
// holds no register yet.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.shutOut(ctx); err != nil {
		return err
	}
	// Whoever held the lock may have made the store meanwhile.
	format, err := s.findMarker()
	if err != nil || format == markerFormat {
		return err
	}
	if format == 0 {
		err = s.makeFolders()
	} else {
		err = s.settleShards()
	}
	if err != nil {
		return err
	}
	for _, folder := range []string{registersName, "."} {
		if err := s.syncFolder(folder); err != nil {
			return err
		}
	}
	if err := s.disk.SyncAncestors(); err != nil {
		return fmt.Errorf("sync the folders above: %w", err)
	}
	return s.putMarker()
}

// shutOut puts a symbolic link in the place of the lock file of format 1. A program of that
// format that has the store open finds its lock file gone, and one that opens the store can't
// open its lock. It waits for a program that holds the lock.
func (s *Store) shutOut(ctx context.Context) error {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		err := s.disk.Symlink(registersName, lockName)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if done, err := s.replaceLock(); done || err != nil {
			return err
		}
		expired, stop := s.clock.After(wait)
		select {
		case <-expired:
		case <-ctx.Done():
			stop()
			return &FileError{Path: lockName, Err: ctx.Err(), Detail: "a process of an earlier version holds this lock; end that process"}
		}
	}
}

// replaceLock puts a symbolic link in the place of the lock file, and reports whether there
// is one now. Only the holder of the lock renames, so a file stays under its holder.
func (s *Store) replaceLock() (done bool, err error) {
	there, err := s.disk.Stat(lockName)
	if err != nil || there.Link {
		return there.Link, unlessGone(err)
	}
	f, err := s.disk.Open(lockName)
	if err != nil {
		if again, statErr := s.disk.Stat(lockName); statErr == nil && again.Link {
			return true, nil
		}
		return false, unlessGone(err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	locked, err := f.TryLock()
	if err != nil || !locked {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	if there, err = s.disk.Stat(lockName); err != nil || there.Link || !there.SameFile(mine.Stamp) {
		return there.Link, unlessGone(err)
	}
	link := lockName + unfinished
	if err := unlessGone(s.disk.Remove(link)); err != nil {
		return false, err
	}
	if err := s.disk.Symlink(registersName, link); err != nil {
		return false, err
	}
	err = s.disk.Rename(link, lockName)
	return err == nil, err
}

// makeFolders makes the folders of a new store, as far as they are not there yet.
func (s *Store) makeFolders() error {
	if err := s.checkForeign(); err != nil {
		// Another process that prepares the folder may be done, and may have registers.
		if format, markerErr := s.findMarker(); markerErr == nil && format == markerFormat {
			return nil
		}
		return err
	}
	folders := []string{registersName}
	for i := range shards {
		folders = append(folders, shardAt(i).folder())
	}
	for _, folder := range folders {
		if err := s.disk.Mkdir(folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// settleShards removes the swaps that writers of format 1 have left, and makes their renames durable.
func (s *Store) settleShards() error {
	for i := range shards {
		folder := shardAt(i).folder()
		if err := unlessGone(s.disk.Remove(folder + "/" + earlierNew)); err != nil {
			return err
		}
		if err := s.syncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// putMarker writes the marker to a file of its own and renames that. Files of others who do the
// same are removed: their makers find the marker.
func (s *Store) putMarker() error {
	token, err := storeclient.DrawToken(s.random)
	if err != nil {
		return err
	}
	made := markerName + unfinished + token.String()
	err = s.put(made, []byte(marker(markerFormat)))
	if err == nil {
		err = s.disk.Rename(made, markerName)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if format, markerErr := s.findMarker(); markerErr == nil && format == markerFormat {
			err = nil
		}
	}
	if err == nil {
		err = s.syncFolder(".")
	}
	if err != nil {
		return err
	}
	names, _ := s.disk.Names(".") // a file that stays is harmless
	for _, name := range names {
		if isMarkerCopy(name) || name == lockName+unfinished {
			_ = s.disk.Remove(name)
		}
	}
	return nil
}

// isMarkerCopy reports whether a name is of a marker that was not put in place.
func isMarkerCopy(name string) bool { return strings.HasPrefix(name, markerName+unfinished) }
