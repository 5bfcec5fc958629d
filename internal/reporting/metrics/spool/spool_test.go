package spool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

func open(t *testing.T, path string, bound int64) *Spool {
	t.Helper()
	s, err := Open(path, bound)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// lines are so many with a name, of about 100 bytes that cannot be compressed.
func lines(name string, n int) [][]byte {
	random := rand.New(rand.NewPCG(uint64(len(name)), 1))
	all := make([][]byte, n)
	for i := range all {
		all[i] = fmt.Appendf(nil, "%s,bed=b n=%di %d%x%x%x%x\n", name, i, i, random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
	}
	return all
}

func take(t *testing.T, s *Spool, rows, series [][]byte) {
	t.Helper()
	if err := s.Take(t.Context(), rows, series); err != nil {
		t.Fatal(err)
	}
}

// drain takes everything out, in the order in which it comes.
func drain(t *testing.T, s *Spool) (all []string) {
	t.Helper()
	for {
		b, err := s.Next(1)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Lines) == 0 {
			return all
		}
		for _, line := range b.Lines {
			all = append(all, string(line))
		}
		if err := s.Done(b, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func texts(lines ...[][]byte) (all []string) {
	for _, line := range slices.Concat(lines...) {
		all = append(all, string(line))
	}
	return all
}

// What was taken is there after a crash, rows first and each in their order. A batch that
// was read and not removed comes again.
func TestSpoolKeepsWhatItTook(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "spool.db")
	s := open(t, path, 1<<20)
	early, rows, late := lines("early", 3), lines("row", 2), lines("late", 2)
	take(t, s, nil, early)
	take(t, s, rows, late)
	b, err := s.Next(1)
	if err != nil || b.Kind != Rows || len(b.Lines) != 2 {
		t.Fatalf("%+v, %v", b, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, 1<<20)
	if got := s.Stats(); got.Rows.Points != 2 || got.Series.Points != 5 || got.Points() != 7 || got.Dropped != 0 {
		t.Errorf("%+v", got)
	}
	if got, want := drain(t, s), texts(rows, early, late); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.Stats(); got != (Stats{}) {
		t.Errorf("an empty spool has %+v", got)
	}
}

// Series beyond the bound are dropped, oldest first, and counted; rows are not. The file
// stays within twice the bound.
func TestSpoolStaysWithinItsBound(t *testing.T) {
	t.Parallel()
	const bound = 256 << 10
	path := filepath.Join(t.TempDir(), "spool.db")
	s := open(t, path, bound)
	rows := lines("row", 100)
	take(t, s, rows, nil)
	taken := 0
	for i := range 100 {
		take(t, s, nil, lines(fmt.Sprint("series", i), 200))
		taken += 200
		if got := s.Stats(); got.Rows.Bytes+got.Series.Bytes+got.Refused.Bytes > bound {
			t.Fatalf("%+v takes more than %d bytes", got, bound)
		}
	}
	file, err := os.Stat(path)
	if err != nil || file.Size() > 2*bound {
		t.Errorf("the file has %d bytes, and the bound is %d (%v)", file.Size(), bound, err)
	}
	stats := s.Stats()
	if stats.Dropped == 0 || int64(stats.Dropped)+stats.Series.Points != int64(taken) {
		t.Errorf("%d points dropped and %d there of %d", stats.Dropped, stats.Series.Points, taken)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, bound)
	if got := s.Stats(); got != stats {
		t.Errorf("opened again it has %+v, want %+v", got, stats)
	}
	got := drain(t, s)
	if !slices.Equal(got[:100], texts(rows)) {
		t.Error("rows are missing")
	}
	if last := texts(lines("series99", 200)); !slices.Equal(got[len(got)-200:], last) {
		t.Error("the newest series are missing")
	}
}

// Rows that do not fit are not taken, and nothing that is there is dropped for them but
// series. They fit once there is room.
func TestRowsWaitForRoom(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "spool.db"), 8<<10)
	series := lines("series", 20)
	take(t, s, nil, series)
	var rows [][]byte
	for {
		one := lines(fmt.Sprint("row", len(rows)), 1)
		err := s.Take(t.Context(), one, nil)
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if rows = append(rows, one...); len(rows) > 1000 {
			t.Fatal("the spool has no bound for rows")
		}
	}
	if got := s.Stats(); got.Rows.Points != int64(len(rows)) || got.Dropped != 20 {
		t.Errorf("%+v with %d rows", got, len(rows))
	}
	if got := drain(t, s); !slices.Equal(got, texts(rows)) {
		t.Errorf("%d of %d rows are there", len(got), len(rows))
	}
	take(t, s, lines("row", 1), nil)
}

// What the database does not take is kept, and tried again once the spool is opened anew.
func TestRefusedLinesAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "spool.db")
	s := open(t, path, 1<<20)
	rows := lines("row", 4)
	take(t, s, rows, nil)
	b, err := s.Next(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Done(b, rows[1:3]); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got.Points() != 0 || got.Refused.Points != 2 {
		t.Errorf("%+v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := drain(t, open(t, path, 1<<20)); !slices.Equal(got, texts(rows[1:3])) {
		t.Errorf("%q", got)
	}
}

func TestOldest(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "spool.db"), 1<<20)
	oldest := func(want int64) {
		t.Helper()
		at, err := s.Oldest()
		if err != nil || want == 0 != at.IsZero() || want != 0 && at.UnixNano() != want {
			t.Errorf("%s (%v), want %d", at, err, want)
		}
	}
	oldest(0)
	take(t, s, nil, [][]byte{[]byte("nodrop_port,bed=b text=\"a 1\" 2000\n"), []byte("nodrop_port,bed=b f=1i 3000\n")})
	oldest(2000)
	take(t, s, [][]byte{[]byte("nodrop_row,bed=b f=1i 1000\n")}, nil)
	oldest(1000)
	take(t, s, [][]byte{[]byte("nodrop_row,bed=b f=1i 500\n")}, nil)
	oldest(1000)
}

func TestOneProcessHasASpool(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "spool.db")
	open(t, path, 1<<20)
	if _, err := Open(path, 1<<20); !errors.Is(err, ErrInUse) {
		t.Errorf("a second process opens the spool: %v", err)
	}
}

// A damaged entry does not stop those behind it. It stays in the file, with what the database refused.
func TestSpoolSetsDamagedEntriesAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "spool.db")
	s := open(t, path, 1<<20)
	rows, series := lines("row", 2), lines("series", 3)
	take(t, s, lines("damaged", 2), lines("damaged", 1))
	take(t, s, rows, series)
	err := s.db.Update(func(tx *bbolt.Tx) error {
		for _, kind := range []Kind{Rows, Series} {
			b := tx.Bucket([]byte(kind))
			key, v := b.Cursor().First()
			damaged := slices.Clone(v)
			for i := range damaged[1:] {
				damaged[1+i] ^= 0x55
			}
			if err := b.Put(slices.Clone(key), damaged); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Oldest(); err != nil {
		t.Error(err)
	}
	if got, want := drain(t, s), texts(rows, series); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.Stats(); got.Refused.Points != 3 || got.Points() != 0 {
		t.Errorf("%+v, want the three damaged points with the refused ones", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, 1<<20)
	if got := drain(t, s); len(got) != 0 {
		t.Errorf("%q, want nothing", got)
	}
	if got := s.Stats(); got.Refused.Points != 3 {
		t.Errorf("%+v, want the three damaged points", got)
	}
}
