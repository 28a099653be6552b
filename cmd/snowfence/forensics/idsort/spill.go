package idsort

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync"
	"syscall"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/text"
)

// FullError is returned when the folder Dir has no room for more than Written bytes.
type FullError struct {
	Dir     string
	Written uint64
}

// Error names the folder and the amount.
func (e *FullError) Error() string {
	return e.Dir + ": has no room: it took " + text.Bytes(e.Written) +
		"\n--temp DIR names another folder; with more --memory less is put aside"
}

// page is some items of a chunk in order, in memory or in the file.
type page struct {
	data        []byte // nil: in the file
	from        int64
	bytes       int32
	items       int32
	chunk       int32
	first, last uint64 // ids
}

// pageBytes is the memory that a page takes besides its data, more or less.
const pageBytes = 80

// spill keeps pages in memory, then in a file. add is safe for concurrent use.
type spill struct {
	Config
	lock    sync.Mutex
	pages   []page
	room    int64   // of memory that is left
	file    scratch // nil: none yet
	written uint64  // bytes in the file
	buffer  []byte
}

// scratch is a file that is gone once it is closed.
type scratch interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// nameless is a file whose name is taken away at once, so that the file is gone however the
// process ends. Where open files keep their names, it goes when it is closed.
type nameless struct{ *os.File }

func createFile(dir string) (scratch, error) {
	f, err := os.CreateTemp(dir, "snowfence-check-")
	if err == nil {
		_ = os.Remove(f.Name()) // Close tries again
	}
	return nameless{f}, err
}

// Close removes the file.
func (f nameless) Close() error {
	err := f.File.Close()
	_ = os.Remove(f.Name()) // nearly always it is gone
	return err
}

// add keeps items of a chunk, in order. Chunks are numbered in the order of reading.
func (s *spill) add(items []Item, chunk int) error {
	var data []byte
	for part := range slices.Chunk(items, s.Sizes.Page) {
		data = appendPage(data[:0], part)
		p := page{bytes: int32(len(data)), items: int32(len(part)), chunk: int32(chunk)}
		p.first, p.last = uint64(part[0].ID), uint64(part[len(part)-1].ID)
		if err := s.put(p, data); err != nil {
			return fmt.Errorf("put ids aside: %w", err)
		}
	}
	return nil
}

// put finds room for a page.
func (s *spill) put(p page, data []byte) (err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if room := int64(len(data) + pageBytes); s.file == nil && room <= s.room {
		s.room -= room
		p.data = slices.Clone(data)
		s.pages = append(s.pages, p)
		return nil
	}
	if s.file == nil {
		file, err := s.create(s.Temp)
		if err != nil {
			return err
		}
		s.file = file
	}
	p.from = int64(s.written)
	_, err = s.file.WriteAt(data, p.from)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return &FullError{s.Temp, s.written}
	}
	s.written += uint64(len(data))
	s.pages = append(s.pages, p)
	return err
}

// get adds the items of a page whose ids are from low to high to others.
func (s *spill) get(p *page, low, high uint64, to []Item) ([]Item, error) {
	data := p.data
	if data == nil {
		s.buffer = slices.Grow(s.buffer[:0], int(p.bytes))[:p.bytes]
		data = s.buffer
		if _, err := s.file.ReadAt(data, p.from); err != nil {
			return nil, fmt.Errorf("read ids that were put aside: %w", err)
		}
	}
	have := len(to)
	to = slices.Grow(to, int(p.items))[:have+int(p.items)]
	items := to[have:]
	if err := readPage(data, items); err != nil {
		return nil, err
	}
	first := sort.Search(len(items), func(i int) bool { return uint64(items[i].ID) >= low })
	end := sort.Search(len(items), func(i int) bool { return uint64(items[i].ID) > high })
	return to[:have+copy(items, items[first:end])], nil
}

// appendPage writes items in order. Of each it writes by how much the id is above
// the one before, and how far the position is from the one behind the position
// before: ids that rise in the order of reading take one byte for that.
func appendPage(data []byte, items []Item) []byte {
	var before Item
	for _, x := range items {
		data = binary.AppendUvarint(data, uint64(x.ID-before.ID))
		data = binary.AppendVarint(data, int64(x.At-before.At-1))
		before = x
	}
	return data
}

// readPage reads a page into items, which is as long as the page has items.
func readPage(data []byte, items []Item) error {
	var before Item
	for i := range items {
		id, n := binary.Uvarint(data)
		at, m := binary.Varint(data[max(n, 0):])
		if n <= 0 || m <= 0 {
			return errors.New("ids that were put aside came back damaged")
		}
		data = data[n+m:]
		before = Item{ID: before.ID + snowfence.ID(id), At: before.At + uint64(at) + 1}
		items[i] = before
	}
	return nil
}
