package labpage

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/lab/queue"
	"nodrop.dev/nodrop/internal/reporting/apart"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// Options of a Page.
type Options struct {
	// Reader has the lab, in caches. It is asked for lists that it need not copy.
	Reader client.Reader
	// Results has the rows of results, which are in no cache.
	Results client.Reader
	// Waiting returns the benchmarks that wait for a bed in the order of the queue. It only
	// reads what it gets.
	Waiting func(ctx context.Context, beds []v1alpha1.TestBed, benchmarks []v1alpha1.Benchmark) ([]queue.Waiting, error)
	// Archive has results of earlier runs; nil where the lab has none.
	Archive Archive
	// Apart reads large results, and documents of the archive at ArchiveURL, outside of this
	// process; nil reads them here.
	Apart      apart.Worker
	ArchiveURL string
	// Access identifies users and checks what they may read.
	Access Access
	// Base is the path that the page is below, with a slash at both ends; empty is /.
	Base string
	// GrafanaResults is the address of the dashboard of results in Grafana; empty without one.
	GrafanaResults string
	// LabNamespace is the lab's own, whose reservations are maintenance windows.
	LabNamespace string
	// Now is the clock.
	Now func() time.Time
	// Log gets what goes wrong, never what a request holds.
	Log logr.Logger
}

// Archive keeps results of finished benchmarks.
type Archive interface {
	// EachOf passes the figures of the newest results of a history to a function, in any order.
	// It returns the results that could not be read.
	EachOf(ctx context.Context, of history.Key, newest int, do func(*report.Document) error) ([]history.Unreadable, error)
	// Result returns one result with all of its rows. Its error is fs.ErrNotExist without one.
	Result(ctx context.Context, of history.Key, uid string) (*report.Document, error)
}

// Page is the lab page.
type Page struct {
	Options
	handler http.Handler
	// busy bounds the requests that are served at once, and users those of each user.
	busy  chan struct{}
	users *paced
	// lab is shown by every page, and results by some.
	lab     snapshots
	results results
}

const (
	// atOnce is the maximum number of requests served at the same time; others wait.
	atOnce = 32
	// slowAtOnce is the maximum number of concurrent requests that read results, which can
	// have some MiB.
	slowAtOnce = 4
	// patience is the timeout of a request.
	patience = 30 * time.Second
	// requestsAtOnce and requestsPerSecond bound the requests of one user, and a request waits for its turn as long
	// as turnPatience. A page with its style and script is three requests.
	requestsAtOnce, requestsPerSecond = 100, 10
	turnPatience                      = 5 * time.Second
)

// New returns the page.
func New(o Options) *Page {
	if o.Base == "" {
		o.Base = "/"
	}
	p := &Page{
		Options: o, busy: make(chan struct{}, atOnce), users: newPaced(requestsAtOnce, requestsPerSecond), lab: snapshots{reader: o.Reader, wait: o.Waiting, now: o.Now},
		results: results{base: o.Base, grafana: o.GrafanaResults, profiles: o.Reader, stored: o.Results, archive: o.Archive, slow: make(chan struct{}, slowAtOnce), large: make(chan struct{}, 1), apart: o.Apart, archiveURL: o.ArchiveURL},
	}
	mux := http.NewServeMux()
	for pattern, show := range map[string]show{
		"/{$}":                              p.overview,
		"/timeline":                         p.timeline,
		"/table":                            p.table,
		"/wall":                             p.wall,
		"/teams":                            p.teams,
		"/beds/{name}":                      p.bed,
		"/benchmarks":                       p.list,
		"/benchmarks/{namespace}/{name}":    p.benchmark,
		"/reservations":                     p.listReservations,
		"/schedules":                        p.listSchedules,
		"/history/{namespace}/{name}":       p.history,
		"/results/{namespace}/{name}":       p.results.report,
		"/comparisons/{namespace}/{name}":   p.results.comparison,
		"/archive/{namespace}/{name}/{uid}": p.results.archived,
		"/static/{file}":                    static,
	} {
		mux.HandleFunc("GET "+pattern, p.serve(show))
	}
	mux.HandleFunc("/", p.serve(func(context.Context, *request) (*answer, error) { return nil, errNotFound }))
	p.handler = http.StripPrefix(strings.TrimSuffix(o.Base, "/"), mux)
	return p
}

// ServeHTTP serves one request.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "The lab page only reads: use GET.", http.StatusMethodNotAllowed)
		return
	}
	p.handler.ServeHTTP(w, r)
}

// policy lets a page load its own style and script, and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// reportPolicy is the content security policy of reports, which are one file with a style and
// no script.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"

// request is a request of an authenticated user.
type request struct {
	*http.Request
	rights
	// lab is the snapshot that the page shows; each user sees a part of it.
	lab *snapshot
}

// answer is a document.
type answer struct {
	kind    string // of the content
	policy  string // empty is that of pages
	file    string // name under which a browser saves it; empty for what it shows
	content []byte
	// body follows the content, and end is called behind it; nil without one.
	body io.Reader
	end  func()
}

type show func(context.Context, *request) (*answer, error)

var (
	errNotFound  = errors.New("there is no such page")
	errForbidden = errors.New("this person may not read that")
	errTooMany   = errors.New("this person asks too often")
)

// problem is an error with a sentence for the person who asked.
type problem struct {
	status int
	title  string
	text   string
}

func (e *problem) Error() string { return e.text }

// serve answers a request: it finds out who asks, takes a snapshot, and writes what show
// returns.
func (p *Page) serve(show show) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		who, err := p.Access.identify(r)
		if err != nil {
			p.fail(w, nil, err)
			return
		}
		if !p.users.await(ctx, who.GetName(), turnPatience) {
			p.fail(w, who, errTooMany)
			return
		}
		select {
		case p.busy <- struct{}{}:
			defer func() { <-p.busy }()
		case <-ctx.Done():
			p.fail(w, who, errUnavailable)
			return
		}
		q := &request{Request: r, rights: rights{who, p.Access.Authorizer}}
		if q.lab, err = p.lab.snapshot(ctx); err != nil {
			p.fail(w, who, err)
			return
		}
		a, err := show(ctx, q)
		if errors.Is(err, errNotFound) && !q.lab.isYounger(p.Now(), fresh) {
			if q.lab, err = p.lab.current(ctx); err == nil { // It may have been made a moment ago.
				a, err = show(ctx, q)
			}
		}
		if err != nil {
			p.fail(w, who, err)
			return
		}
		a.write(w, http.StatusOK)
	}
}

// write sends an answer, for which there is time from now on: it may have taken longer than the server
// gives to a request.
func (a *answer) write(w http.ResponseWriter, status int) {
	limit := patience
	if a.body != nil {
		limit = largePatience
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit))
	w.Header().Set("Content-Type", a.kind)
	if a.policy != "" {
		w.Header().Set("Content-Security-Policy", a.policy)
	}
	if a.file != "" {
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", a.file))
	}
	w.WriteHeader(status)
	_, _ = w.Write(a.content) // A browser that is gone needs no answer.
	if a.body == nil {
		return
	}
	defer a.end()
	if _, err := io.Copy(w, a.body); err != nil {
		panic(http.ErrAbortHandler) // The browser must not take a part for the whole.
	}
}

// fail writes an error page. Details go to the log only.
func (p *Page) fail(w http.ResponseWriter, who user.Info, err error) {
	said := &problem{http.StatusInternalServerError, "Something went wrong", "The operator's log says what."}
	switch {
	case errors.As(err, &said):
	case errors.Is(err, errUnknown):
		w.Header().Set("WWW-Authenticate", `Bearer realm="nodrop"`)
		said = &problem{http.StatusUnauthorized, "Who are you?", "This page needs a token of the cluster, which a browser does not send by itself. " +
			"Open it with \"kubectl nodrop page\", or by the address of the proxy that signs you in."}
	case errors.Is(err, errStrangers):
		w.Header().Set("Retry-After", "60")
		said = &problem{http.StatusTooManyRequests, "Too many unknown tokens", "Too many tokens that the cluster does not know came from your address. Try again in a minute."}
	case errors.Is(err, errTooMany):
		w.Header().Set("Retry-After", "5")
		said = &problem{http.StatusTooManyRequests, "Too many requests", fmt.Sprintf("You may open %d pages per second. Try again in a moment.", requestsPerSecond)}
	case errors.Is(err, errForbidden):
		said = &problem{http.StatusForbidden, "You may not see this", "It needs the right to read it in the cluster. Ask for the role view in the namespace."}
	case errors.Is(err, errNotFound):
		said = &problem{http.StatusNotFound, "Not found", "There is no such page, or you may not see it."}
	case errors.Is(err, errUnavailable), errors.Is(err, context.DeadlineExceeded):
		p.Log.Error(err, "The lab page could not be served")
		said = &problem{http.StatusServiceUnavailable, "Not available now", "The cluster does not answer, or the page is busy. Try again in a moment."}
	case errors.Is(err, context.Canceled):
		return
	default:
		p.Log.Error(err, "The lab page could not be served")
	}
	f := frame{Base: p.Base, Title: said.title, Now: p.Now()}
	if who != nil {
		f.User = who.GetName()
	}
	a, err := render("problem", struct {
		frame
		Text string
	}{f, said.text})
	if err != nil {
		http.Error(w, said.text, said.status)
		return
	}
	a.write(w, said.status)
}

//go:embed html/*.tmpl static/*
var files embed.FS

var templates = template.Must(template.New("").Funcs(functions).ParseFS(files, "html/*.tmpl"))

// frame contains the parts that every page has.
type frame struct {
	Base, Title, User string
	// Section of the navigation.
	Section string
	Now     time.Time
	// Refresh is the number of seconds after which a page is fetched again; 0 is never.
	Refresh int
}

// framed is every page.
type framed interface {
	item(section, path, title string) item
}

// item is one of the navigation.
func (f frame) item(section, path, title string) item {
	return item{f.Base, path, title, f.Section == section}
}

func (p *Page) frame(q *request, section, title string, refresh int) frame {
	return frame{Base: p.Base, Title: title, User: q.user.GetName(), Section: section, Now: q.lab.at, Refresh: refresh}
}

func render(name string, data any) (*answer, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, fmt.Errorf("writing the page: %w", err)
	}
	return &answer{kind: "text/html; charset=utf-8", content: b.Bytes()}, nil
}

// static serves style and script.
func static(_ context.Context, q *request) (*answer, error) {
	kinds := map[string]string{"style.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}
	name := q.PathValue("file")
	kind := kinds[name]
	if kind == "" {
		return nil, errNotFound
	}
	content, err := files.ReadFile("static/" + name)
	if err != nil {
		return nil, fmt.Errorf("reading a part of the program: %w", err)
	}
	return &answer{kind: kind, content: content}, nil
}
