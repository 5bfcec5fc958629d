package hostileteam

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
)

// pages are the pages that cost most.
var pages = []string{"/", "/benchmarks?view=waiting", "/timeline", "/reservations", "/schedules"}

// newVisitor returns a client of the lab page.
func (a *attack) newVisitor() *http.Client {
	return &http.Client{Timeout: requestTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: a.Roots, ServerName: a.PageName},
	}}
}

// visit opens pages with unknown tokens, and every fourth time with the token of the team.
func (a *attack) visit(ctx context.Context, c *http.Client, worker int) {
	for i := worker; ctx.Err() == nil; i++ {
		token, name := unknownToken(), "page with unknown token"
		if i%4 == 0 && a.Token != "" {
			token, name = a.Token, "page with own token"
		}
		a.counts.add(ctx, name, open(ctx, c, a.Page+pages[i%len(pages)], token))
	}
}

// open reads a page.
func open(ctx context.Context, c *http.Client, url, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking for a page: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := c.Do(request)
	if err != nil {
		return fmt.Errorf("asking for a page: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return fmt.Errorf("reading a page: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return pageStatus(answer.StatusCode)
	}
	return nil
}
