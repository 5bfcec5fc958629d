package archive

import (
	"strings"
	"testing"
)

func TestLocation(t *testing.T) {
	for name, tc := range map[string]struct {
		give, shown, opened, prefix string
	}{
		"a directory": {
			give: "file:///var/lib/nodrop/archive", shown: "file:///var/lib/nodrop/archive",
			opened: "file:///var/lib/nodrop/archive?create_dir=true&metadata=skip&no_tmp_dir=true",
		},
		"a path": {
			give: "/var/lib/my archive/", shown: "file:///var/lib/my%20archive",
			opened: "file:///var/lib/my%20archive?create_dir=true&metadata=skip&no_tmp_dir=true",
		},
		"a bucket": {give: "s3://lab", shown: "s3://lab", opened: "s3://lab"},
		"a bucket of Amazon in a region": {
			give: "s3://lab?region=eu-central-1", shown: "s3://lab?region=eu-central-1", opened: "s3://lab?region=eu-central-1",
		},
		"a part of a bucket": {give: "s3://lab/results/2026/", shown: "s3://lab/results/2026", opened: "s3://lab", prefix: "results/2026/"},
		"another server": {
			give:   "s3://lab/results?endpoint=https://minio.example.com:9000",
			shown:  "s3://lab/results?endpoint=https%3A%2F%2Fminio.example.com%3A9000",
			opened: "s3://lab?endpoint=https%3A%2F%2Fminio.example.com%3A9000&region=us-east-1&use_path_style=true",
			prefix: "results/",
		},
		"another server with its own settings": {
			give:   "s3://lab?endpoint=https://s3.example.com&region=lab-1&use_path_style=false",
			shown:  "s3://lab?endpoint=https%3A%2F%2Fs3.example.com&region=lab-1&use_path_style=false",
			opened: "s3://lab?endpoint=https%3A%2F%2Fs3.example.com&region=lab-1&use_path_style=false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_REGION", "")
			t.Setenv("AWS_DEFAULT_REGION", "")
			l, err := parseLocation(tc.give)
			if err != nil {
				t.Fatal(err)
			}
			if l.String() != tc.shown || l.bucketURL() != tc.opened || l.prefix() != tc.prefix {
				t.Errorf("got %s, opened as %s with the prefix %q", l, l.bucketURL(), l.prefix())
			}
			if again, err := parseLocation(l.String()); err != nil || again.String() != tc.shown {
				t.Errorf("what is shown cannot be used: %s, %v", again, err)
			}
		})
	}
}

// TestLocationRefused has URLs that cannot work, or that would show a secret. No
// message repeats the secret.
func TestLocationRefused(t *testing.T) {
	const secret = "hunter2"
	for name, tc := range map[string]struct{ give, want string }{
		"nothing":                       {"", "is empty"},
		"no directory":                  {"file:///", "names no directory"},
		"the root, which is none":       {"/", "names no directory"},
		"the root by another name":      {"file:///a/..", "names no directory"},
		"a directory with two slashes":  {"file://var/lib/nodrop", "three slashes"},
		"a directory with parameters":   {"file:///var/lib/nodrop?secret_key_path=" + secret, "has parameters"},
		"no bucket":                     {"s3:///results", "names no bucket"},
		"another scheme":                {"ftp://example.com/results", `scheme "ftp"`},
		"a user":                        {"s3://user:" + secret + "@lab", "AWS_SECRET_ACCESS_KEY"},
		"a user of a URL with errors":   {"s3://user:" + secret + "@la b", "cannot be read"},
		"a secret parameter":            {"s3://lab?secret_access_key=" + secret, `unknown parameter "secret_access_key"`},
		"parameters that are not":       {"s3://lab?a=" + secret + "%zz", "cannot be read"},
		"an endpoint with a user":       {"s3://lab?endpoint=https://user:" + secret + "@example.com", "not a plain URL"},
		"an endpoint with parameters":   {"s3://lab?endpoint=https://example.com%3Fkey=" + secret, "not a plain URL"},
		"an endpoint that is not a URL": {"s3://lab?endpoint=%25zz" + secret, "not a plain URL"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := parseLocation(tc.give)
			if err == nil {
				t.Fatalf("taken as %s", l)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q, want %q in it", err, tc.want)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the message shows the secret: %s", err)
			}
		})
	}
}
