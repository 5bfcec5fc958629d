package sink

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"nodrop.dev/nodrop/internal/base/hint"
)

// API is the version of a write API of InfluxDB.
type API string

// The write APIs.
const (
	// V1 is POST /write: InfluxDB 1, VictoriaMetrics and others.
	V1 API = "v1"
	// V2 is POST /api/v2/write: InfluxDB 2, and 1 from 1.8.
	V2 API = "v2"
	// V3 is POST /api/v3/write_lp: InfluxDB 3.
	V3 API = "v3"
)

// Config is the address and the format of the database that points are written to.
type Config struct {
	// URL of the server, such as https://influxdb:8086. It holds no secret.
	URL string
	// API of the server.
	API API
	// Database of v1 and v3, and RetentionPolicy of v1; empty for the default one.
	Database, RetentionPolicy string
	// Org and Bucket of v2.
	Org, Bucket string
	// TokenFile holds the token; of v1 USER:PASSWORD. It is read again for each request,
	// so that a token can be replaced. Without it Token is used; empty for none.
	TokenFile string
	Token     Secret
	// CAFile has the certificates, in PEM, of the authorities that the server's is checked
	// with; empty for those of the machine.
	CAFile string
}

// Secret is a text that no format prints.
type Secret string

// String hides the secret.
func (Secret) String() string { return "[hidden]" }

// GoString hides the secret.
func (Secret) GoString() string { return "[hidden]" }

// MarshalText hides the secret, in JSON also.
func (Secret) MarshalText() ([]byte, error) { return []byte("[hidden]"), nil }

// Check returns an error if the configuration is not valid.
func (c Config) Check() error {
	at, err := url.Parse(c.URL)
	if err != nil {
		// The error of url.Parse repeats the text, which may hold a password.
		return errors.New("the URL of the metrics is none: it looks like https://influxdb:8086")
	}
	switch {
	case at.User != nil:
		return hint.With(fmt.Errorf("the URL of the metrics, %s, holds a password", at.Redacted()), "write the token into a file, of API v1 as USER:PASSWORD")
	case at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
		return fmt.Errorf("the URL of the metrics is %q: it begins with http:// or https:// and a host", c.URL)
	case at.RawQuery != "" || at.Fragment != "":
		return hint.With(fmt.Errorf("the URL of the metrics, %s://%s, has parameters", at.Scheme, at.Host), "give database or bucket on their own")
	}
	switch c.API {
	case V1, V3:
		if c.Database == "" {
			return fmt.Errorf("API %s needs a database", c.API)
		}
		if c.Org != "" || c.Bucket != "" {
			return fmt.Errorf("API %s has a database, and no bucket or organization", c.API)
		}
	case V2:
		if c.Bucket == "" {
			return errors.New("API v2 needs a bucket")
		}
		if c.Database != "" {
			return errors.New("API v2 has a bucket, and no database")
		}
	default:
		return fmt.Errorf("API %q of the metrics is not known: v1, v2 and v3 are", c.API)
	}
	if c.RetentionPolicy != "" && c.API != V1 {
		return fmt.Errorf("API %s has no retention policy: v1 has", c.API)
	}
	return nil
}

// token is the token by now.
func (c Config) token() (string, error) {
	if c.TokenFile == "" {
		return string(c.Token), nil
	}
	content, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", fmt.Errorf("reading the token of the metrics: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// endpoint is the address that lines are posted to.
func (c Config) endpoint() (string, error) {
	at, err := url.Parse(c.URL)
	if err != nil {
		return "", errors.New("the URL of the metrics is none")
	}
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	switch c.API {
	case V1:
		at = at.JoinPath("write")
		set("db", c.Database)
		set("rp", c.RetentionPolicy)
		set("precision", "ns")
	case V2:
		at = at.JoinPath("api/v2/write")
		set("org", c.Org)
		set("bucket", c.Bucket)
		set("precision", "ns")
	case V3:
		at = at.JoinPath("api/v3/write_lp")
		set("db", c.Database)
		set("precision", "nanosecond")
		set("accept_partial", "true")
	}
	at.RawQuery = q.Encode()
	return at.String(), nil
}

// AddFlags adds the flags of a database, but its URL. The API is the default of its flag.
func (c *Config) AddFlags(flags *pflag.FlagSet, prefix string) {
	flags.StringVar((*string)(&c.API), prefix+"api", string(c.API), "write API of the database, v1, v2 or v3")
	flags.StringVar(&c.Database, prefix+"database", "", "database, of API v1 and v3")
	flags.StringVar(&c.RetentionPolicy, prefix+"retention-policy", "", "retention policy, of API v1")
	flags.StringVar(&c.Org, prefix+"org", "", "organization, of API v2")
	flags.StringVar(&c.Bucket, prefix+"bucket", "", "bucket, of API v2")
	flags.StringVar(&c.TokenFile, prefix+"token-file", "", "file with the token, of API v1 USER:PASSWORD; it is read again for each request")
	flags.StringVar(&c.CAFile, prefix+"ca-file", "", "file with the certificates of the authorities that the database's is checked with")
}
