package check

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
)

// A disk is where what does not fit the memory is put aside. The tests have one
// that gets full.
type disk interface {
	// create makes a file that nobody else sees.
	create() (scratch, error)
	// free is how many bytes there is room for, or false if nobody knows.
	free() (uint64, bool)
}

// scratch is a file that is gone once it is closed.
type scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// FullError is returned when there is no room for what has to be put aside, or
// when there will be none.
type FullError struct {
	// Dir is the folder.
	Dir string
	// Written is what was put aside until then, Needed what all would take, zero
	// where nobody knows, and Free what there is room for. All are bytes.
	Written, Needed, Free uint64
	// IDs is how many ids had been read.
	IDs uint64
}

// Error names the folder and the amounts.
func (e *FullError) Error() string {
	s := fmt.Sprintf("%s: has no room: %s put aside after %d ids", e.Dir, Bytes(e.Written), e.IDs)
	if e.Needed > 0 {
		s = fmt.Sprintf("%s: has too little room: about %s more are needed, %s are free", e.Dir, Bytes(e.Needed-min(e.Needed, e.Written)), Bytes(e.Free))
	}
	return s + "\n--temp DIR names another folder; with more --memory less is put aside"
}

// Bytes writes an amount for people: "1.5 GiB".
func Bytes(n uint64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit := float64(n)/1024, 0
	for v >= 1024 && unit+1 < len(units) {
		v, unit = v/1024, unit+1
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}

// page is a part of a run, in memory or in a file.
type page struct {
	first uint64 // its lowest id
	items int
	bytes int
	data  []byte // nil: in the file
	file  scratch
	from  int64
}

// run is items in order. Its pages are in order.
type run struct {
	number int // runs are numbered in the order of positions
	pages  []page
}

// shelf keeps pages: in memory as long as there is room, then in a file. It is
// safe for concurrent use.
type shelf struct {
	disk disk
	dir  string
	// expect says which part of all ids has been read, from 0 to 1, or 0 if nobody
	// knows, and how many ids that is.
	expect func() (part float64, ids uint64)

	mu      sync.Mutex
	room    int64 // of memory that is left
	held    int64 // bytes in memory
	file    scratch
	files   []scratch
	end     int64  // of the file
	written uint64 // to all files
	items   uint64 // that were put, until turn
	checked uint64 // written when the room was looked at last
}

// lookEvery is after how many bytes the room on the disk is looked at again.
const lookEvery = 256 << 20

// put keeps a page that has its slack. The bytes are copied.
func (s *shelf) put(data []byte, first uint64, items int) (page, error) {
	p := page{first: first, items: items, bytes: len(data)}
	file, err := s.reserve(&p)
	if err != nil {
		return p, err
	}
	if file == nil {
		p.data = append(make([]byte, 0, len(data)), data...)
		return p, nil
	}
	p.file = file
	if _, err := file.WriteAt(data, p.from); err != nil {
		return p, s.fault(err)
	}
	return p, nil
}

// reserve finds room for a page: in the file that it returns, or in memory.
func (s *shelf) reserve(p *page) (scratch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(p.bytes)
	if s.file == nil && size <= s.room {
		s.items += uint64(p.items)
		s.room -= size
		s.held += size
		return nil, nil
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return nil, err
		}
	}
	if s.written == 0 || s.written-s.checked >= lookEvery {
		s.checked = s.written
		if err := s.look(); err != nil {
			return nil, err
		}
	}
	p.from = s.end
	s.items += uint64(p.items)
	s.end += size
	s.written += uint64(size)
	return s.file, nil
}

// look compares the room that will be needed with what there is.
func (s *shelf) look() error {
	needed, ids := s.needed()
	free, ok := s.disk.free()
	if ok && needed > s.written && needed-s.written > free {
		return &FullError{Dir: s.dir, Written: s.written, Needed: needed, Free: free, IDs: ids}
	}
	return nil
}

// needed is how much will be put aside, if the ids to come take as much room as
// those before, or 0 if nobody knows; and how many were read.
func (s *shelf) needed() (bytes, ids uint64) {
	part, ids := s.expect()
	if part <= 0 || s.items == 0 {
		return 0, ids
	}
	each := (float64(s.held) + float64(s.written)) / float64(s.items)
	return uint64(max(0, each*float64(ids)/part-float64(s.held))), ids
}

// fault makes an error of writing one that says how much there was.
func (s *shelf) fault(err error) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("put ids aside: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	full := &FullError{Dir: s.dir, Written: s.written}
	full.Needed, full.IDs = s.needed()
	full.Free, _ = s.disk.free()
	return full
}

// turn lets what is put from now on go to a new file, and returns a func that
// drops what was put before.
func (s *shelf) turn() func() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.files
	s.room, s.file, s.files, s.end = 0, nil, nil, 0
	return func() error { return closeAll(old) }
}

// open makes the file.
func (s *shelf) open() error {
	f, err := s.disk.create()
	if err != nil {
		return fmt.Errorf("put ids aside: %w", err)
	}
	s.file, s.files = f, append(s.files, f)
	return nil
}

// get returns the bytes of a page, in buffer if they are in a file.
func (p page) get(buffer []byte) ([]byte, error) {
	if p.data != nil {
		return p.data, nil
	}
	buffer = buffer[:p.bytes]
	if _, err := p.file.ReadAt(buffer, p.from); err != nil {
		return nil, fmt.Errorf("read what was put aside: %w", err)
	}
	return buffer, nil
}

// close drops everything.
func (s *shelf) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	files := s.files
	s.file, s.files = nil, nil
	return closeAll(files)
}

func closeAll(files []scratch) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
