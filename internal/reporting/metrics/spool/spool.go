// Package spool keeps points on disk until a database has them, within a bound: of series
// the oldest points are dropped to make room, and counted. Rows are never dropped.
//
// What Take has returned for survives a crash. A point that was written and not yet
// removed when the process died is written again.
package spool

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrFull means that there is no room for rows: rows that wait for the database fill the
// spool. The caller can retry later.
var ErrFull = errors.New("the spool is full of rows that wait for the database")

// ErrInUse means that another process has the file of the spool open.
var ErrInUse = errors.New("another process uses it")

// Kind is the kind of points, which decides how they are kept.
type Kind string

// The kinds of points.
const (
	// Rows are never dropped.
	Rows Kind = "rows"
	// Series are dropped when there is no room, oldest first.
	Series Kind = "series"
	// refusedRows and refusedSeries are points that the database refused. They are tried again
	// when the spool is opened the next time.
	refusedRows   Kind = "refused rows"
	refusedSeries Kind = "refused series"
)

var kinds = []Kind{Rows, Series, refusedRows, refusedSeries}

// refused maps each kind to the kind under which refused points are kept.
var refused = map[Kind]Kind{Rows: refusedRows, Series: refusedSeries}

// Spool is a file with points. Its methods may be called concurrently.
type Spool struct {
	db    *bbolt.DB
	bound int64

	mu sync.Mutex
	// kept is by kind what is in the file.
	kept map[Kind]Kept
	// dropped is the number of dropped series points since the file was made.
	dropped uint64
	// changed is closed when there is something new.
	changed chan struct{}
}

// Kept is the amount of points of one kind in the spool.
type Kept struct {
	// Points, and Bytes that they take.
	Points, Bytes int64
}

// Stats describes the content of the spool.
type Stats struct {
	// Rows and Series wait for the database; it did not take those that are Refused.
	Rows, Series, Refused Kept
	// Dropped is the number of dropped series points since the spool was made.
	Dropped uint64
}

// Points returns the number of points that wait for the database.
func (s Stats) Points() int64 { return s.Rows.Points + s.Series.Points }

var metaBucket, droppedKey = []byte("meta"), []byte("dropped")

// Open opens or makes the spool in a file. All that is kept takes at most bound bytes; the
// file itself may be twice as large. It fails when another process has the file open.
func Open(path string, bound int64) (*Spool, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("opening the spool of metrics: %w", err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("opening the spool of metrics %s: %w", path, ErrInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the spool of metrics %s: %w", path, err)
	}
	s := &Spool{db: db, bound: bound, kept: map[Kind]Kept{}, changed: make(chan struct{})}
	if err := db.Update(s.load); err != nil {
		return nil, errors.Join(fmt.Errorf("reading the spool of metrics %s: %w", path, err), db.Close())
	}
	return s, nil
}

// load counts what is there.
func (s *Spool) load(tx *bbolt.Tx) error {
	meta, err := tx.CreateBucketIfNotExists(metaBucket)
	if err != nil {
		return err
	}
	if v := meta.Get(droppedKey); len(v) == 8 {
		s.dropped = binary.BigEndian.Uint64(v)
	}
	for _, kind := range kinds {
		b, err := tx.CreateBucketIfNotExists([]byte(kind))
		if err != nil {
			return err
		}
		var k Kept
		err = b.ForEach(func(_, v []byte) error {
			k.Points += points(v)
			k.Bytes += size(v)
			return nil
		})
		if err != nil {
			return err
		}
		s.kept[kind] = k
	}
	for to, from := range refused {
		if err := move(tx, s.kept, from, to); err != nil {
			return err
		}
	}
	return nil
}

// move puts all of a kind behind those of another one.
func move(tx *bbolt.Tx, kept map[Kind]Kept, from, to Kind) error {
	var entries [][]byte
	err := tx.Bucket([]byte(from)).ForEach(func(_, v []byte) error {
		entries = append(entries, slices.Clone(v))
		return nil
	})
	if err != nil {
		return err
	}
	if err := tx.DeleteBucket([]byte(from)); err != nil {
		return err
	}
	if _, err := tx.CreateBucket([]byte(from)); err != nil {
		return err
	}
	kept[from] = Kept{}
	return put(tx, kept, to, entries)
}

// Close closes the file.
func (s *Spool) Close() error { return s.db.Close() }

// Take keeps lines of rows and series. When it returns nil, they are on disk. With ErrFull
// none was taken. It does not wait for the database.
func (s *Spool) Take(_ context.Context, rows, series [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := map[Kind][][]byte{Rows: chunks(rows), Series: chunks(series)}
	if s.kept[Rows].Bytes+s.kept[refusedRows].Bytes+sizes(entries[Rows]) > s.bound {
		return ErrFull
	}
	err := s.update(func(tx *bbolt.Tx, kept map[Kind]Kept, dropped *uint64) error {
		for _, kind := range []Kind{Rows, Series} {
			if err := put(tx, kept, kind, entries[kind]); err != nil {
				return err
			}
		}
		return s.makeRoom(tx, kept, dropped)
	})
	if err != nil {
		return fmt.Errorf("keeping points in the spool: %w", err)
	}
	return nil
}

// update is a transaction, after which the counts are as it left them.
func (s *Spool) update(f func(tx *bbolt.Tx, kept map[Kind]Kept, dropped *uint64) error) error {
	kept, dropped := map[Kind]Kept{}, s.dropped
	for kind, k := range s.kept {
		kept[kind] = k
	}
	err := s.db.Update(func(tx *bbolt.Tx) error {
		if err := f(tx, kept, &dropped); err != nil {
			return err
		}
		if dropped == s.dropped {
			return nil
		}
		return tx.Bucket(metaBucket).Put(droppedKey, binary.BigEndian.AppendUint64(nil, dropped))
	})
	if err != nil {
		return err
	}
	s.kept, s.dropped = kept, dropped
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// put appends entries.
func put(tx *bbolt.Tx, kept map[Kind]Kept, kind Kind, entries [][]byte) error {
	b := tx.Bucket([]byte(kind))
	b.FillPercent = 0.9 // Keys only grow.
	for _, entry := range entries {
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		if err := b.Put(binary.BigEndian.AppendUint64(nil, n), entry); err != nil {
			return err
		}
		k := kept[kind]
		kept[kind] = Kept{k.Points + points(entry), k.Bytes + size(entry)}
	}
	return nil
}

// makeRoom drops series that were refused, and then the oldest ones, until all is within
// the bound.
func (s *Spool) makeRoom(tx *bbolt.Tx, kept map[Kind]Kept, dropped *uint64) error {
	total := func() (sum int64) {
		for _, k := range kept {
			sum += k.Bytes
		}
		return sum
	}
	for _, kind := range []Kind{refusedSeries, Series} {
		c := tx.Bucket([]byte(kind)).Cursor()
		for k, v := c.First(); k != nil && total() > s.bound; k, v = c.First() {
			*dropped += uint64(points(v))
			kept[kind] = Kept{kept[kind].Points - points(v), kept[kind].Bytes - size(v)}
			if err := c.Delete(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Batch are lines that wait for the database.
type Batch struct {
	// Kind of all of them.
	Kind Kind
	// Lines, each with its newline.
	Lines [][]byte

	keys [][]byte
}

// Next returns the oldest lines: rows before series, and about as many bytes as asked for. It
// is empty when nothing waits. Damaged entries are kept with those that the database refused.
func (s *Spool) Next(bytes int) (Batch, error) {
	for {
		batch, damaged, err := s.next(bytes)
		if err != nil {
			return Batch{}, fmt.Errorf("reading the spool of metrics: %w", err)
		}
		if len(damaged) == 0 {
			return batch, nil
		}
		if err := s.setAside(batch.Kind, damaged); err != nil {
			return Batch{}, fmt.Errorf("setting damaged entries of the spool of metrics aside: %w", err)
		}
	}
}

// next returns the oldest lines, or the keys of entries before them that are damaged.
func (s *Spool) next(bytes int) (batch Batch, damaged [][]byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		for _, batch.Kind = range []Kind{Rows, Series} {
			total := 0
			c := tx.Bucket([]byte(batch.Kind)).Cursor()
			for k, v := c.First(); k != nil && (total == 0 || total < bytes); k, v = c.Next() {
				lines, err := unpack(v)
				if err != nil {
					damaged = append(damaged, slices.Clone(k))
					continue
				}
				batch.keys = append(batch.keys, slices.Clone(k))
				for _, line := range lines {
					total += len(line)
				}
				batch.Lines = append(batch.Lines, lines...)
			}
			if total > 0 || len(damaged) > 0 {
				return nil
			}
		}
		return nil
	})
	return batch, damaged, err
}

// setAside keeps entries as those that the database refused: they are tried again when the spool is
// opened the next time.
func (s *Spool) setAside(kind Kind, keys [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.update(func(tx *bbolt.Tx, kept map[Kind]Kept, _ *uint64) error {
		bucket := tx.Bucket([]byte(kind))
		for _, key := range keys {
			v := slices.Clone(bucket.Get(key))
			if v == nil {
				continue // It was dropped meanwhile.
			}
			kept[kind] = Kept{kept[kind].Points - points(v), kept[kind].Bytes - size(v)}
			if err := bucket.Delete(key); err != nil {
				return err
			}
			if err := put(tx, kept, refused[kind], [][]byte{v}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Done removes a batch, which the database has; but keeps those lines that it does
// not take.
func (s *Spool) Done(b Batch, not [][]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.update(func(tx *bbolt.Tx, kept map[Kind]Kept, dropped *uint64) error {
		bucket := tx.Bucket([]byte(b.Kind))
		for _, key := range b.keys {
			v := bucket.Get(key)
			if v == nil {
				continue // It was dropped meanwhile.
			}
			kept[b.Kind] = Kept{kept[b.Kind].Points - points(v), kept[b.Kind].Bytes - size(v)}
			if err := bucket.Delete(key); err != nil {
				return err
			}
		}
		if err := put(tx, kept, refused[b.Kind], chunks(not)); err != nil {
			return err
		}
		return s.makeRoom(tx, kept, dropped)
	})
	if err != nil {
		return fmt.Errorf("removing written points from the spool: %w", err)
	}
	return nil
}

// Oldest returns the time of the first point that waits for the database, by the order in which
// they came; the zero time when none waits. Damaged entries have no time.
func (s *Spool) Oldest() (time.Time, error) {
	var oldest time.Time
	err := s.db.View(func(tx *bbolt.Tx) error {
		for _, kind := range []Kind{Rows, Series} {
			c := tx.Bucket([]byte(kind)).Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				at, known := timeOf(v)
				if !known {
					continue
				}
				if oldest.IsZero() || at.Before(oldest) {
					oldest = at
				}
				break
			}
		}
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the spool of metrics: %w", err)
	}
	return oldest, nil
}

// timeOf returns the time of the first point of an entry.
func timeOf(entry []byte) (time.Time, bool) {
	lines, err := unpack(entry)
	if err != nil {
		return time.Time{}, false
	}
	stamp := bytes.TrimSpace(lines[0][bytes.LastIndexByte(lines[0], ' ')+1:])
	ns, err := strconv.ParseInt(string(stamp), 10, 64)
	return time.Unix(0, ns).UTC(), err == nil
}

// Changed is closed when something was taken or removed after this call.
func (s *Spool) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Stats returns the content of the spool.
func (s *Spool) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, series := s.kept[refusedRows], s.kept[refusedSeries]
	return Stats{s.kept[Rows], s.kept[Series], Kept{rows.Points + series.Points, rows.Bytes + series.Bytes}, s.dropped}
}
