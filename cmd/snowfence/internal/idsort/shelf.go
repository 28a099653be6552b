package idsort

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"snowfence.example/snowfence/internal/text"
)

// A disk is where what does not fit the memory is put aside. Tests have their own.
type disk interface {
	// create makes a file that no other process sees.
	create() (scratch, error)
	// free is how many bytes there is room for, or false if that is not known.
	free() (uint64, bool)
}

// scratch is a file that is gone once it is closed.
type scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// FullError is returned when there is, or will be, no room for what has to be put aside.
type FullError struct {
	// Dir is the folder.
	Dir string
	// Written is what was put aside until then, Needed what all would take, or 0 if
	// that is not known, and Free what there is room for. All are bytes.
	Written, Needed, Free uint64
	// IDs is how many ids had been read.
	IDs uint64
}

// Error names the folder and the amounts.
func (e *FullError) Error() string {
	s := fmt.Sprintf("%s: has no room: %s put aside after %s", e.Dir, text.Bytes(e.Written), text.Count(e.IDs, "id"))
	if e.Needed > 0 {
		s = fmt.Sprintf("%s: has too little room: about %s more are needed, %s are free", e.Dir, text.Bytes(e.Needed-min(e.Needed, e.Written)), text.Bytes(e.Free))
	}
	return s + "\n--temp DIR names another folder; with more --memory less is put aside"
}

// page is a part of a run: in memory, or in a file.
type page struct {
	items int
	bytes int
	data  []byte // nil: in the file
	file  scratch
	from  int64
}

// get returns the bytes of a page, in buffer if they are in a file, and the buffer.
func (p page) get(buffer []byte) (data, room []byte, err error) {
	if p.file == nil {
		return p.data, buffer, nil
	}
	if len(buffer) < p.bytes {
		buffer = make([]byte, 2*p.bytes)
	}
	if _, err := p.file.ReadAt(buffer[:p.bytes], p.from); err != nil {
		return nil, buffer, fmt.Errorf("read what was put aside: %w", err)
	}
	return buffer[:p.bytes], buffer, nil
}

// shelf keeps pages in memory, then in a file. put is safe for concurrent use.
type shelf struct {
	disk     disk
	dir      string
	progress *Progress

	mu      sync.Mutex
	room    int64   // of memory that is left
	held    int64   // bytes in memory
	items   uint64  // in memory and in the file
	file    scratch // nil: none yet
	written uint64  // to the file
	checked uint64  // written when the room on the disk was looked at last
}

func (s *Sorted) newShelf(room int64) *shelf {
	return &shelf{disk: s.disk, dir: s.Temp, progress: s.Progress, room: room}
}

// lookEvery is after how many bytes the room on the disk is looked at again.
const lookEvery = 256 << 20

// put keeps a copy of the bytes of a page.
func (s *shelf) put(data []byte, items int) (page, error) {
	p := page{items: items, bytes: len(data)}
	if err := s.reserve(&p); err != nil {
		return p, err
	}
	if p.file == nil {
		p.data = append(make([]byte, 0, len(data)), data...)
	} else if _, err := p.file.WriteAt(data, p.from); err != nil {
		return p, s.fault(err)
	}
	return p, nil
}

// reserve finds room for a page: in memory, or in the file that it notes.
func (s *shelf) reserve(p *page) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size := int64(p.bytes); s.file == nil && size <= s.room {
		s.items += uint64(p.items)
		s.room -= size
		s.held += size
		return nil
	}
	if s.file == nil {
		f, err := s.disk.create()
		if err != nil {
			return fmt.Errorf("put ids aside: %w", err)
		}
		s.file = f
	}
	if s.written == 0 || s.written-s.checked >= lookEvery {
		s.checked = s.written
		if full := s.full(); full.Free > 0 && full.Needed > full.Written+full.Free {
			return full
		}
	}
	p.file, p.from = s.file, int64(s.written)
	s.items += uint64(p.items)
	s.written += uint64(p.bytes)
	return nil
}

// full says how much there is and will be, if the ids to come take as much room.
func (s *shelf) full() *FullError {
	e := &FullError{Dir: s.dir, Written: s.written}
	e.Free, _ = s.disk.free()
	now := s.progress.Snapshot()
	e.IDs = now.IDs
	if part := now.Part(); part > 0 && s.items > 0 {
		each := float64(uint64(s.held)+s.written) / float64(s.items)
		e.Needed = uint64(max(0, each*float64(now.IDs)/part-float64(s.held)))
	}
	return e
}

// fault makes an error of writing one that says how much there was.
func (s *shelf) fault(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("put ids aside: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full()
}

// close drops everything.
func (s *shelf) close() error {
	if s.file == nil {
		return nil
	}
	if err := s.file.Close(); err != nil {
		return fmt.Errorf("drop what was put aside: %w", err)
	}
	return nil
}
