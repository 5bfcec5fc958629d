package archive

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"nodrop.dev/nodrop/internal/base/hint"
)

// EndpointsVariable is the environment variable with the hosts of S3 servers that URLs may name, separated
// by commas: minio.example.com:9000.
const EndpointsVariable = "NODROP_ARCHIVE_ENDPOINTS"

// CheckEndpoint returns an error if the URL of an archive names a server that neither the environment nor
// a trusted URL names. Requests to it would be signed with the credentials of the person who opens the
// URL, which another person may have sent.
func CheckEndpoint(where string, trusted ...string) error {
	l, err := parseLocation(where)
	if err != nil || l.query.Get("endpoint") == "" {
		return nil //nolint:nilerr // Reading it has the error.
	}
	host := hostOf(l.query.Get("endpoint"))
	known := strings.Split(os.Getenv(EndpointsVariable), ",")
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} { // of Amazon's tools
		known = append(known, hostOf(os.Getenv(name)))
	}
	for _, place := range trusted {
		if l, err := parseLocation(place); err == nil {
			known = append(known, hostOf(l.query.Get("endpoint")))
		}
	}
	if host != "" && slices.ContainsFunc(known, func(one string) bool { return strings.TrimSpace(one) == host }) {
		return nil
	}
	return hint.With(fmt.Errorf("the URL names the server %q: requests to it are signed with your credentials", host),
		fmt.Sprintf("if you trust this server: export %s=%s", EndpointsVariable, host))
}

// hostOf returns the host and the port of a URL; empty if it has none.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}
