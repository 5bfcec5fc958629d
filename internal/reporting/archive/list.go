package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"gocloud.dev/blob"
)

// List returns the URLs of the documents in a folder of an archive, in the order of their
// names. Results of a benchmark are in NAMESPACE/NAMESPACE-UID/NAME; for the folder NAMESPACE/NAME it lists
// these folders of all namespaces of that name. A folder that does not exist has no documents.
func List(ctx context.Context, folder string) ([]string, error) {
	l, err := parseLocation(folder)
	if err != nil {
		return nil, err
	}
	urls, _, err := l.list(ctx)
	if err != nil || len(urls) > 0 || l.path == "" {
		return urls, err
	}
	parent := l
	parent.path = parentOf(l.path)
	_, folders, err := parent.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, uid := range folders {
		if !uidPattern.MatchString(uid) {
			continue // of another namespace, or of no archive
		}
		more, _, err := parent.join(uid).join(path.Base(l.path)).list(ctx)
		if err != nil {
			return nil, err
		}
		urls = append(urls, more...)
	}
	return urls, nil
}

// uidPattern matches the UID of a namespace.
var uidPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// list returns the URLs of the documents in a folder, and the names of the folders in it, both in order.
func (l location) list(ctx context.Context) (urls, folders []string, _ error) {
	list := func() (documents, folders []string, _ error) { return namesIn(l.path) }
	if l.scheme != schemeFile {
		s := &Store{location: l}
		defer func() { _ = s.Close() }()
		list = func() (documents, folders []string, _ error) { return s.names(ctx) }
	}
	names, folders, err := list()
	if err != nil {
		return nil, nil, fmt.Errorf("listing %s: %w", l, err)
	}
	for _, name := range names {
		urls = append(urls, l.join(name).String())
	}
	return urls, folders, nil
}

// parentOf returns the folder that a folder is in; empty for the root of a bucket.
func parentOf(folder string) string {
	if parent := path.Dir(folder); parent != "." {
		return parent
	}
	return ""
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

// names returns the names of the documents and of the folders at the root of the archive.
func (s *Store) names(ctx context.Context) (names, folders []string, _ error) {
	bucket, err := s.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, folders, err := entries(ctx, bucket, "")
	for _, object := range all {
		names = append(names, object.Key)
	}
	return names, folders, err
}

// entries returns the documents in a folder of a bucket, in the order of their keys, and the names of
// its folders. The name of a folder other than the root ends with a slash.
func entries(ctx context.Context, bucket *blob.Bucket, folder string) (documents []*blob.ListObject, folders []string, _ error) {
	for objects := bucket.List(&blob.ListOptions{Prefix: folder, Delimiter: "/"}); ; {
		object, err := objects.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return documents, folders, nil
		case err != nil:
			return nil, nil, err
		case object.IsDir:
			folders = append(folders, path.Base(object.Key))
		case strings.HasSuffix(object.Key, suffix):
			documents = append(documents, object)
		}
	}
}

// namesIn returns the names of the documents and of the folders in a directory, which is not made as
// the library would.
func namesIn(dir string) (names, folders []string, _ error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			folders = append(folders, e.Name())
		case strings.HasSuffix(e.Name(), suffix):
			names = append(names, e.Name())
		}
	}
	return names, folders, nil
}
