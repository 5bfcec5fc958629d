package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Attempt bounds one attempt, with look-up, handshake and answer.
const Attempt = 10 * time.Second

// Sender sends events.
type Sender struct {
	guard  Guard
	client *http.Client
}

// NewSender sends to what the guard allows. Roots are the authorities that certificates of
// receivers are checked with; nil are those of the system. Each attempt is a connection of
// its own, without proxy, and no redirect is followed.
func NewSender(guard Guard, roots *x509.CertPool) *Sender {
	dialer := &net.Dialer{Timeout: Attempt, Control: guard.control}
	return &Sender{guard: guard, client: &http.Client{
		Timeout:       Attempt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxResponseHeaderBytes: 16 << 10,
		},
	}}
}

// Allows returns the reason why a URL may not be sent to, or nil.
func (s *Sender) Allows(url string) error { return s.guard.Host(url) }

// RefusedError is an event that the receiver did not take, or that did not reach it.
type RefusedError struct {
	// Reason is for people; it shows nothing of the answer but its status code.
	Reason string
	// Final reports whether the receiver wants no more events: status 410.
	Final bool
	// After is the time that the receiver asks to wait; 0 if it does not ask for it.
	After time.Duration
}

// Error is the reason.
func (e *RefusedError) Error() string { return e.Reason }

// Send makes one attempt to send a body. Every status of 2xx takes it. It fails with
// *RefusedError, with *HostError, or with the error of the context.
func (s *Sender) Send(ctx context.Context, url, id string, keys []Key, body []byte, now time.Time) error {
	if err := s.guard.Host(url); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return &RefusedError{Reason: "url cannot be read"}
	}
	request.Header.Set("Content-Type", "application/cloudevents+json; charset=UTF-8")
	request.Header.Set("User-Agent", "nodrop")
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	request.Header.Set("webhook-signature", signature(keys, id, now, body))
	answer, err := s.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &RefusedError{Reason: unreached(err)}
	}
	_ = answer.Body.Close() // Its content does not matter here.
	switch {
	case answer.StatusCode >= 200 && answer.StatusCode < 300:
		return nil
	case answer.StatusCode == http.StatusGone:
		return &RefusedError{Reason: "the receiver answered 410: it wants no more events", Final: true}
	case answer.StatusCode >= 300 && answer.StatusCode < 400:
		return &RefusedError{Reason: fmt.Sprintf("the receiver answered %d, and redirects are not followed: correct url", answer.StatusCode)}
	}
	return &RefusedError{Reason: fmt.Sprintf("the receiver answered %d", answer.StatusCode), After: retryAfter(answer.Header.Get("Retry-After"), now)}
}

// unreached returns the reason why there was no answer, without any address.
func unreached(err error) string {
	var resolving *net.DNSError
	var timeout net.Error
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errAddress):
		return errAddress.Error()
	case errors.As(err, &resolving):
		return "the name of the host cannot be resolved"
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &certificate):
		return "the certificate of the receiver cannot be verified"
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("the receiver did not answer within %s", Attempt)
	}
	return "the receiver cannot be reached"
}

// retryAfter reads the header of this name: seconds, or a time (RFC 9110 section 10.2.3).
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

const (
	firstPause = 5 * time.Second
	// LongestPause is the longest time between two attempts, unless the receiver asks for more.
	LongestPause = 10 * time.Minute
)

// Pause returns the time to wait after the given number of attempts: 5 s after the first one,
// then three times as long each time, up to 10 min. It subtracts up to a quarter, which
// depends on the identifier, so that events are not all sent at the same time.
func Pause(attempts int32, id string) time.Duration {
	pause := firstPause
	for range min(attempts, 16) - 1 {
		pause = min(3*pause, LongestPause)
	}
	var spread uint32
	for _, c := range []byte(id) {
		spread = spread*31 + uint32(c)
	}
	return pause - pause/4*time.Duration(spread%1000)/1000
}
