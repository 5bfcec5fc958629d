package archive

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Schemes of archives.
const (
	schemeFile = "file"
	schemeS3   = "s3"
)

// location is the location of an archive or of a document in it.
type location struct {
	scheme string
	// bucket of S3.
	bucket string
	// path is the directory or file; in a bucket, the prefix or key, without a slash
	// at either end.
	path string
	// query contains the connection parameters of the server. It has no secrets.
	query url.Values
}

// s3Settings are the parameters that a URL of S3 may have. They say how the server
// is reached and are no secrets, so that they can be shown.
var s3Settings = []string{
	"endpoint", "region", "use_path_style", "disable_https", "hostname_immutable", "dualstack", "fips", "accelerate",
	"ssetype", "kmskeyid", "request_checksum_calculation", "response_checksum_validation",
}

// parseLocation reads a URL or the path of a file. Its errors show no part of a URL
// that may be a secret.
func parseLocation(text string) (location, error) {
	if text == "" {
		return location{}, errors.New("the URL of the archive is empty: use file:///DIRECTORY or s3://BUCKET")
	}
	if !strings.Contains(text, "://") {
		full, err := filepath.Abs(text)
		if err != nil {
			return location{}, fmt.Errorf("finding %s: %w", text, err)
		}
		return fileAt(full)
	}
	u, err := url.Parse(text)
	if err != nil {
		return location{}, errors.New("the URL of the archive cannot be read: use file:///DIRECTORY or s3://BUCKET")
	}
	if u.User != nil {
		return location{}, fmt.Errorf("the URL of the archive on %s has a user: remove it, and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment", u.Host)
	}
	switch u.Scheme {
	case schemeFile:
		return parseFile(u)
	case schemeS3:
		return parseS3(u)
	}
	return location{}, fmt.Errorf("an archive with the scheme %q is not supported: use file:///DIRECTORY or s3://BUCKET", u.Scheme)
}

func parseFile(u *url.URL) (location, error) {
	if u.Host != "" && u.Host != "localhost" {
		return location{}, fmt.Errorf("the URL of the archive names the host %q: a directory has three slashes, file:///DIRECTORY", u.Host)
	}
	if u.RawQuery != "" {
		return location{}, fmt.Errorf("the URL of the archive in %s has parameters: a directory has none", u.Path)
	}
	return fileAt(u.Path)
}

func fileAt(path string) (location, error) {
	if path = filepath.Clean(path); path == "." || path == "/" {
		return location{}, errors.New("the URL of the archive names no directory: use file:///DIRECTORY")
	}
	return location{scheme: schemeFile, path: path}, nil
}

func parseS3(u *url.URL) (location, error) {
	if u.Host == "" {
		return location{}, errors.New("the URL of the archive names no bucket: use s3://BUCKET")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return location{}, fmt.Errorf("the parameters of the archive s3://%s cannot be read: separate them with &", u.Host)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(s3Settings, name) {
			return location{}, fmt.Errorf("the archive s3://%s has the unknown parameter %q: allowed are %s; set credentials in the environment",
				u.Host, name, strings.Join(s3Settings, ", "))
		}
	}
	if endpoint, err := url.Parse(query.Get("endpoint")); err != nil || endpoint.User != nil || endpoint.RawQuery != "" {
		return location{}, fmt.Errorf("the endpoint of the archive s3://%s is not a plain URL such as https://minio.example.com:9000", u.Host)
	}
	return location{scheme: schemeS3, bucket: u.Host, path: strings.Trim(path.Clean("/"+u.Path), "/"), query: query}, nil
}

// join is the location of a key below this one.
func (l location) join(key string) location {
	l.path = path.Join(l.path, key)
	return l
}

// String is the location as a URL.
func (l location) String() string {
	u := url.URL{Scheme: l.scheme, Host: l.bucket, Path: "/" + strings.TrimPrefix(l.path, "/"), RawQuery: l.query.Encode()}
	if l.scheme == schemeS3 && l.path == "" {
		u.Path = ""
	}
	return u.String()
}

// bucketURL is the URL with which the library opens the bucket or directory.
func (l location) bucketURL() string {
	if l.scheme == schemeFile {
		// Temporary files next to the document are on the same file system, so that
		// they can be renamed.
		query := url.Values{"create_dir": {"true"}, "no_tmp_dir": {"true"}, "metadata": {"skip"}}
		return (&url.URL{Scheme: schemeFile, Path: l.path, RawQuery: query.Encode()}).String()
	}
	query := maps.Clone(l.query)
	if query.Get("endpoint") != "" {
		// Most servers other than Amazon's need this.
		if !query.Has("use_path_style") {
			query.Set("use_path_style", "true")
		}
		if !query.Has("region") && os.Getenv("AWS_REGION") == "" && os.Getenv("AWS_DEFAULT_REGION") == "" {
			query.Set("region", "us-east-1")
		}
	}
	return (&url.URL{Scheme: schemeS3, Host: l.bucket, RawQuery: query.Encode()}).String()
}

// prefix returns the prefix that the library adds to every key.
func (l location) prefix() string {
	if l.scheme == schemeFile || l.path == "" {
		return ""
	}
	return l.path + "/"
}
