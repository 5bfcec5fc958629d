package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"gocloud.dev/blob"
)

// List returns the URLs of the documents in a folder of an archive, in the order of their
// names: those of a benchmark are in NAMESPACE/NAME. A folder that is not there has none.
func List(ctx context.Context, folder string) ([]string, error) {
	l, err := parseLocation(folder)
	if err != nil {
		return nil, err
	}
	names := (*Store).names
	if l.scheme == schemeFile {
		names = func(*Store, context.Context) ([]string, error) { return namesIn(l.path) }
	}
	s := &Store{location: l}
	defer func() { _ = s.Close() }()
	all, err := names(s, ctx)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", l, err)
	}
	var urls []string
	for _, name := range all {
		urls = append(urls, l.join(name).String())
	}
	return urls, nil
}

// Folder is the URL of the folder that a document is in.
func Folder(document string) (string, error) {
	l, err := parseLocation(document)
	if err != nil {
		return "", err
	}
	l.path = path.Dir(l.path)
	return l.String(), nil
}

// names are the documents of the archive that are in no folder below it.
func (s *Store) names(ctx context.Context) (names []string, _ error) {
	bucket, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	all, err := documents(ctx, bucket, "")
	for _, object := range all {
		names = append(names, object.Key)
	}
	return names, err
}

// documents returns the documents in a folder of a bucket, in the order of their keys, without
// those in subfolders. The name of a folder other than the root ends with a slash.
func documents(ctx context.Context, bucket *blob.Bucket, folder string) (all []*blob.ListObject, _ error) {
	for objects := bucket.List(&blob.ListOptions{Prefix: folder, Delimiter: "/"}); ; {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if !object.IsDir && strings.HasSuffix(object.Key, suffix) {
			all = append(all, object)
		}
	}
}

// namesIn are the documents of a directory, which is not made as the library would.
func namesIn(dir string) (names []string, _ error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), suffix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
