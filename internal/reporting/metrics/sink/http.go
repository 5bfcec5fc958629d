package sink

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"nodrop.dev/nodrop/internal/base/version"
)

// requestTimeout bounds one request: a server that is slower is taken for absent.
const requestTimeout = 30 * time.Second

// maxAnswer is the maximum number of bytes that are read of an answer.
const maxAnswer = 64 << 10

// maxPause bounds the pause that a server asks for.
const maxPause = 5 * time.Minute

// HTTP writes to a server with one of the write APIs of InfluxDB.
type HTTP struct {
	config   Config
	endpoint string
	client   *http.Client
	timeout  time.Duration
}

// Dial connects to an address, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewHTTP is the sink of a configuration. It does not connect. Dial may be nil.
func NewHTTP(c Config, dial Dial) (*HTTP, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	endpoint, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if dial != nil {
		transport.DialContext = dial
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		content, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the authorities of the metrics' server: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("reading the authorities of the metrics' server: %s has no certificate in PEM", c.CAFile)
		}
	}
	return &HTTP{config: c, endpoint: endpoint, timeout: requestTimeout, client: &http.Client{
		Transport: transport,
		// A redirection could lead the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// String is the server with the API and the database or bucket.
func (h *HTTP) String() string {
	name := h.config.Database
	if h.config.API == V2 {
		name = h.config.Bucket
	}
	return fmt.Sprintf("%s (API %s, %s)", h.config.URL, h.config.API, name)
}

// Write posts the lines, compressed.
func (h *HTTP) Write(ctx context.Context, lines [][]byte) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	var body bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&body, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("compressing points: %w", err)
	}
	for _, line := range lines {
		if _, err := zipped.Write(line); err != nil {
			return fmt.Errorf("compressing points: %w", err)
		}
	}
	if err := zipped.Close(); err != nil {
		return fmt.Errorf("compressing points: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.endpoint, &body)
	if err != nil {
		return fmt.Errorf("writing points to %s: %w", h, err)
	}
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("User-Agent", "nodrop/"+version.String())
	token, err := h.config.token()
	if err != nil {
		return err
	}
	h.authorize(request, token)
	answer, err := h.client.Do(request)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err // without the address, which String has
		}
		return fmt.Errorf("writing points to %s: %w", h, err)
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if answer.StatusCode/100 == 2 {
		return nil
	}
	if err != nil {
		content = nil
	}
	return h.failure(answer, content, token)
}

func (h *HTTP) authorize(request *http.Request, token string) {
	if token == "" {
		return
	}
	switch h.config.API {
	case V1:
		user, password, _ := strings.Cut(token, ":")
		request.SetBasicAuth(user, password)
	case V2:
		request.Header.Set("Authorization", "Token "+token)
	case V3:
		request.Header.Set("Authorization", "Bearer "+token)
	}
}

// failure returns the error for an answer of the server. It hides the token, so that a server
// that repeats the token does not bring it into a log.
func (h *HTTP) failure(answer *http.Response, content []byte, token string) error {
	reason := reasonOf(content)
	for _, secret := range []string{token, afterColon(token)} {
		if secret != "" {
			reason = strings.ReplaceAll(reason, secret, "[hidden]")
		}
	}
	text := fmt.Sprintf("%s answered %s: %s", h, answer.Status, reason)
	switch answer.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		if aboutPoints(content) {
			return &RefusedError{Reason: reason}
		}
	case http.StatusRequestEntityTooLarge:
		return &RefusedError{Reason: "too large: " + reason}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &LaterError{Reason: text, After: retryAfter(answer.Header.Get("Retry-After"), time.Now())}
	}
	return errors.New(text)
}

func afterColon(token string) string {
	_, after, _ := strings.Cut(token, ":")
	return after
}

// answerBody is the body of a failed request in the three APIs: v1 sends an error, v2 a code
// and a message, v3 an error with the refused lines.
type answerBody struct {
	Error, Code, Message string
	Data                 json.RawMessage
}

// aboutPoints reports whether a server has looked at the points: another 400 is about the
// request, and points are not lost for that.
func aboutPoints(content []byte) bool {
	var body answerBody
	if json.Unmarshal(content, &body) != nil {
		return false
	}
	if body.Code == "invalid" || body.Code == "unprocessable entity" {
		return true
	}
	for _, begin := range []string{"partial write", "unable to parse", "field type conflict", "parsing failed", "write buffer error", "points beyond retention policy"} {
		if strings.HasPrefix(body.Error, begin) {
			return true
		}
	}
	return false
}

// reasonOf is the message in an answer, on one line.
func reasonOf(content []byte) string {
	var body answerBody
	text := string(content)
	if json.Unmarshal(content, &body) == nil && body.Error+body.Message != "" {
		text = strings.TrimPrefix(body.Error+": "+body.Message, ": ")
		if body.Message == "" {
			text = body.Error
		}
		if len(body.Data) > 0 {
			text += ": " + string(body.Data)
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "..."
	}
	if text == "" {
		return "it gives no reason"
	}
	return text
}

// retryAfter reads the header Retry-After (RFC 9110 section 10.2.3): seconds or a date.
// It is 0 without one, and at most five minutes.
func retryAfter(header string, now time.Time) time.Duration {
	var pause time.Duration
	if seconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 32); err == nil {
		pause = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		pause = at.Sub(now)
	}
	return min(max(0, pause), maxPause)
}
