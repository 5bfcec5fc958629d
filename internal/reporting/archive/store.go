package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // directories
	_ "gocloud.dev/blob/s3blob"   // S3
	"gocloud.dev/gcerrors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/archive/figures"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// suffix is the end of a document's key.
const suffix = ".json.zst"

// Store is an archive. It can be used by several goroutines.
type Store struct {
	location location

	// Whole reads the figures of the document with a key that has no file of figures. Nil reads the
	// document in this process.
	Whole func(ctx context.Context, key string) (*report.Document, error)

	// mu guards bucket, which is opened on first use: an archive may be unavailable when
	// the operator starts.
	mu     sync.Mutex
	bucket *blob.Bucket
}

// Open returns the archive of a URL: file:///DIRECTORY, or
// s3://BUCKET/PREFIX?endpoint=...&region=.... A path is a directory. Credentials of
// S3 come from the environment, as with Amazon's tools; a URL that contains any is
// refused. The archive need not exist yet. A directory is made when it does not
// exist.
func Open(where string) (*Store, error) {
	l, err := parseLocation(where)
	if err != nil {
		return nil, err
	}
	return &Store{location: l}, nil
}

// open returns the bucket.
func (s *Store) open(ctx context.Context) (*blob.Bucket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bucket != nil {
		return s.bucket, nil
	}
	bucket, err := blob.OpenBucket(ctx, s.location.bucketURL())
	if err != nil {
		return nil, fmt.Errorf("opening the archive %s: %w", s.location, err)
	}
	if prefix := s.location.prefix(); prefix != "" {
		bucket = blob.PrefixedBucket(bucket, prefix)
	}
	s.bucket = bucket
	return bucket, nil
}

// URL returns the location of the archive, without credentials.
func (s *Store) URL() string { return s.location.String() }

// Close releases the resources of the archive.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bucket == nil {
		return nil
	}
	err := s.bucket.Close()
	s.bucket = nil
	if err != nil {
		return fmt.Errorf("closing the archive: %w", err)
	}
	return nil
}

// DifferentError means that the key of the new document already has a different document.
// Nothing was changed.
type DifferentError struct {
	// Existing is the document that is there.
	Existing v1alpha1.ArchiveReference
	// SHA256 is the digest of the document that was to be written.
	SHA256 string
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("the archive has another document at %s: its SHA-256 is %s, that of the result is %s", e.Existing.URL, e.Existing.SHA256, e.SHA256)
}

// Put writes a document, and its figures and its digest next to it. A document that is there already
// is not written again; another one under the same key is a DifferentError. Readers
// do not see interrupted writes.
func (s *Store) Put(ctx context.Context, d *report.Document) (v1alpha1.ArchiveReference, error) {
	key, err := keyOf(history.Key{Namespace: d.Benchmark.Namespace, NamespaceUID: d.Benchmark.NamespaceUID, Name: d.Spec.History(d.Benchmark.Name)}, d.Benchmark.UID)
	if err != nil {
		return v1alpha1.ArchiveReference{}, err
	}
	bucket, err := s.open(ctx)
	if err != nil {
		return v1alpha1.ArchiveReference{}, err
	}
	ref, err := s.write(ctx, bucket, key, d)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		ref, err = s.adopt(ctx, bucket, key, d)
	}
	if err != nil {
		return v1alpha1.ArchiveReference{}, err
	}
	if err := s.putFigures(ctx, bucket, key, d, ref.SHA256); err != nil {
		return v1alpha1.ArchiveReference{}, err
	}
	if err := s.putDigest(ctx, bucket, key, ref.SHA256); err != nil {
		return v1alpha1.ArchiveReference{}, err
	}
	return ref, s.flush(key)
}

// folderOf returns the folder of a history.
func folderOf(of history.Key) (string, error) {
	for _, part := range []string{of.Namespace, of.NamespaceUID, of.Name} {
		if !isFileName(part) {
			return "", fmt.Errorf("the history %s of namespace %q with the UID %q has no place in an archive: namespace, its UID and name are needed", of.Name, of.Namespace, of.NamespaceUID)
		}
	}
	return path.Join(of.Namespace, of.NamespaceUID, of.Name), nil
}

// keyOf returns the key of a benchmark's document in its history.
func keyOf(of history.Key, uid string) (string, error) {
	folder, err := folderOf(of)
	if err != nil {
		return "", err
	}
	if !isFileName(uid) {
		return "", fmt.Errorf("a result of the history %s of namespace %s has no place in an archive: the UID of its benchmark is %q", of.Name, of.Namespace, uid)
	}
	return path.Join(folder, uid+suffix), nil
}

func isFileName(part string) bool {
	return part != "" && !strings.HasPrefix(part, ".") && !strings.ContainsAny(part, `/\`)
}

// write writes a document unless its key is taken.
func (s *Store) write(ctx context.Context, bucket *blob.Bucket, key string, d *report.Document) (v1alpha1.ArchiveReference, error) {
	taken, err := bucket.Exists(ctx, key)
	if err != nil {
		return v1alpha1.ArchiveReference{}, fmt.Errorf("checking for %s: %w", s.location.join(key), err)
	}
	if taken {
		return s.adopt(ctx, bucket, key, d)
	}
	sum, err := s.putCompressed(ctx, bucket, key, true, func(w io.Writer) (digest, error) { return encode(w, d) })
	if err != nil {
		return v1alpha1.ArchiveReference{}, err
	}
	return s.reference(key, sum, time.Now()), nil
}

// putCompressed writes what a function writes under a key, or nothing if that fails. With once it fails
// if the key is taken.
func (s *Store) putCompressed(ctx context.Context, bucket *blob.Bucket, key string, once bool, write func(io.Writer) (digest, error)) (digest, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: "application/zstd", IfNotExist: once, MaxConcurrency: 1})
	if err != nil {
		return digest{}, fmt.Errorf("writing %s: %w", s.location.join(key), err)
	}
	sum, err := write(w)
	if err != nil {
		cancel() // A writer that is closed after its context has ended writes nothing.
		return digest{}, errors.Join(fmt.Errorf("writing %s: %w", s.location.join(key), err), ignoreCanceled(w.Close()))
	}
	if err := w.Close(); err != nil {
		return digest{}, fmt.Errorf("writing %s: %w", s.location.join(key), err)
	}
	return sum, nil
}

// adopt returns the reference of the document that is there, if it is the same.
func (s *Store) adopt(ctx context.Context, bucket *blob.Bucket, key string, d *report.Document) (v1alpha1.ArchiveReference, error) {
	want, err := digestOf(d)
	if err != nil {
		return v1alpha1.ArchiveReference{}, fmt.Errorf("encoding the result: %w", err)
	}
	r, err := bucket.NewReader(ctx, key, nil)
	if err != nil {
		return v1alpha1.ArchiveReference{}, fmt.Errorf("reading %s: %w", s.location.join(key), err)
	}
	have, err := digestOfReader(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return v1alpha1.ArchiveReference{}, fmt.Errorf("reading %s: %w", s.location.join(key), err)
	}
	ref := s.reference(key, have, r.ModTime())
	if have != want {
		if want, err = s.digestAsBefore(ctx, bucket, key, d); err != nil {
			return v1alpha1.ArchiveReference{}, err
		}
	}
	if have != want {
		return v1alpha1.ArchiveReference{}, &DifferentError{Existing: ref, SHA256: want.hex}
	}
	return ref, nil
}

// putDigest writes the digest of a document unless it is there.
func (s *Store) putDigest(ctx context.Context, bucket *blob.Bucket, key, hex string) error {
	text := digestLine(hex, path.Base(key))
	have, err := bucket.ReadAll(ctx, key+document.DigestSuffix)
	if err == nil && string(have) == text {
		return nil
	}
	if err == nil || gcerrors.Code(err) == gcerrors.NotFound {
		err = bucket.WriteAll(ctx, key+document.DigestSuffix, []byte(text), &blob.WriterOptions{ContentType: "text/plain"})
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", s.location.join(key+document.DigestSuffix), err)
	}
	return nil
}

// putFigures writes the figures of a document unless they are there.
func (s *Store) putFigures(ctx context.Context, bucket *blob.Bucket, key string, d *report.Document, hex string) error {
	if have, err := figures.ReadFile(ctx, key, s.stored); err == nil && have.Document == hex {
		return nil
	}
	_, err := s.putCompressed(ctx, bucket, key+figures.Suffix, false, func(w io.Writer) (digest, error) { return compress(w, figures.Of(d, hex).Write) })
	return err
}

func (s *Store) reference(key string, sum digest, at time.Time) v1alpha1.ArchiveReference {
	return v1alpha1.ArchiveReference{URL: s.location.join(key).String(), SHA256: sum.hex, Bytes: sum.bytes, Time: metav1.NewTime(at)}
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) || gcerrors.Code(err) == gcerrors.Canceled {
		return nil
	}
	return err
}

// flush makes a document in a directory survive a loss of power. In a bucket the
// server has done so before it answered.
func (s *Store) flush(key string) error {
	if s.location.scheme != schemeFile {
		return nil
	}
	name := filepath.Join(s.location.path, filepath.FromSlash(key))
	names := []string{name, name + figures.Suffix, name + document.DigestSuffix}
	// The directories of name, namespace and its UID may be new.
	for dir := filepath.Dir(name); len(dir) >= len(s.location.path); dir = filepath.Dir(dir) {
		names = append(names, dir)
	}
	for _, name := range names {
		if err := syncFile(name); err != nil {
			return fmt.Errorf("storing %s: %w", key, err)
		}
	}
	return nil
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
