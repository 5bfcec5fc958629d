package labpage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/apart"
	"nodrop.dev/nodrop/internal/reporting/history"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// historySize is the maximum number of runs that are read for a history.
const historySize = 50

// kinds of content by format of a report.
var kinds = map[report.Format]string{
	report.FormatHTML: "text/html; charset=utf-8", report.FormatJSON: "application/json", report.FormatCSV: "text/csv; charset=utf-8",
	report.FormatMarkdown: "text/markdown; charset=utf-8", report.FormatJUnit: "application/xml",
}

var endings = map[report.Format]string{report.FormatJSON: ".json", report.FormatCSV: ".csv", report.FormatMarkdown: ".md", report.FormatJUnit: ".junit.xml"}

// results reads the results of benchmarks from the cluster and from the archive.
type results struct {
	// grafana is the address of the dashboard of results in Grafana; empty without one.
	grafana string
	// base is the path of the lab page, to which reports lead back.
	base string
	// profiles has the traffic profiles of benchmarks that were not accepted yet.
	profiles client.Reader
	// stored has the rows of results.
	stored client.Reader
	// archive has results of earlier runs; nil where the lab has none.
	archive Archive
	// slow bounds the requests that read small results at once, and large the ones that read a
	// large result, or one of the archive: one at a time.
	slow, large chan struct{}
	// kept are results that change no more.
	kept documents
	// apart reads large results, and the documents of the archive at archiveURL; nil reads them in
	// this process. Failures has those that could not be read.
	apart      apart.Worker
	archiveURL string
	failures   failures
}

// report shows the result of a benchmark.
func (r *results) report(ctx context.Context, q *request) (*answer, error) {
	b, err := q.withRows(ctx, q.PathValue("namespace"), q.PathValue("name"))
	if err != nil {
		return nil, err
	}
	if r.apart != nil && stored.IsLarge(b) {
		a, format, err := download(q, b.Name)
		if err != nil {
			return nil, err
		}
		return r.apartly(q.Context(), a, string(b.UID)+" "+string(format), apart.Task{Show: new(apart.Of(b)), Format: format, Links: append(r.links(q, "benchmarks"), r.onGrafana(b)...)})
	}
	release, err := r.slowly(ctx, b)
	if err != nil {
		return nil, err
	}
	defer release()
	d, err := r.document(ctx, b)
	if err != nil {
		return nil, err
	}
	return written(d, q, append(r.links(q, "benchmarks"), r.onGrafana(b)...))
}

// links lead from a report to the page of its benchmark, or of its history.
func (r *results) links(q *request, pages ...string) []report.Link {
	names := map[string]string{"benchmarks": "Benchmark on the lab page", "history": "History on the lab page"}
	var links []report.Link
	for _, page := range pages {
		links = append(links, report.Link{Name: names[page], URL: r.base + page + "/" + q.PathValue("namespace") + "/" + q.PathValue("name")})
	}
	return links
}

// withRows is a benchmark whose rows the person may read.
func (q *request) withRows(ctx context.Context, namespace, name string) (*v1alpha1.Benchmark, error) {
	b, err := q.find(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	may, err := q.mayResults(ctx, namespace)
	switch {
	case err != nil:
		return nil, err
	case !may:
		return nil, errForbidden
	}
	return b, nil
}

// written is a result in the format that a request asks for. The report in HTML has the links.
func written(d *report.Document, q *request, links []report.Link) (*answer, error) {
	d = new(*d) // Others may read the kept one.
	d.Cover.Links = links
	a, format, err := download(q, d.Benchmark.Name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := d.Write(&text, format); err != nil {
		return nil, err
	}
	a.content = text.Bytes()
	return a, nil
}

// download returns the format that a request asks for, and the answer without its content. A
// browser saves other formats than HTML under a name.
func download(q *request, name string) (*answer, report.Format, error) {
	format := report.Format(q.URL.Query().Get("format"))
	if format == "" {
		format = report.FormatHTML
	}
	if kinds[format] == "" {
		return nil, "", errNotFound
	}
	a := &answer{kind: kinds[format], policy: reportPolicy}
	if ending := endings[format]; ending != "" {
		a.file = name + ending
	}
	return a, format, nil
}

// comparison compares a benchmark with another one of its namespace, which is the baseline.
func (r *results) comparison(ctx context.Context, q *request) (*answer, error) {
	namespace, name, with := q.PathValue("namespace"), q.PathValue("name"), q.URL.Query().Get("with")
	if with == name {
		return nil, &problem{400, "Nothing to compare", "A comparison needs two benchmarks."}
	}
	var benchmarks []*v1alpha1.Benchmark
	for _, each := range []string{with, name} {
		b, err := q.withRows(ctx, namespace, each)
		if err != nil {
			return nil, err
		}
		benchmarks = append(benchmarks, b)
	}
	if r.apart != nil && slices.ContainsFunc(benchmarks, stored.IsLarge) {
		a := &answer{kind: kinds[report.FormatHTML], policy: reportPolicy}
		of := []apart.Benchmark{apart.Of(benchmarks[0]), apart.Of(benchmarks[1])}
		return r.apartly(q.Context(), a, fmt.Sprint(of), apart.Task{Compare: of, Format: report.FormatHTML, Links: r.links(q, "benchmarks")})
	}
	release, err := r.slowly(ctx, benchmarks...)
	if err != nil {
		return nil, err
	}
	defer release()
	var documents []*report.Document
	for _, b := range benchmarks {
		d, err := r.document(ctx, b)
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	c, err := report.Compare(documents, []string{with, name})
	if err != nil {
		return nil, &problem{400, "Cannot be compared", err.Error()}
	}
	c.Links = r.links(q, "benchmarks")
	var text bytes.Buffer
	if err := c.Write(&text, report.FormatHTML); err != nil {
		return nil, err
	}
	return &answer{kind: kinds[report.FormatHTML], policy: reportPolicy, content: text.Bytes()}, nil
}

// documents keeps results that do not change any more.
type documents struct {
	mu    sync.Mutex
	of    map[string]keptDocument // by UID of the benchmark
	uids  []string                // the oldest first
	bytes int
}

type keptDocument struct {
	document *report.Document
	bytes    int
}

// keptBytes bounds the rows of results that are kept, in bytes as JSON. In memory they have about
// as many.
const keptBytes = 32 << 20

// sizeOf is the size of the rows of a result as JSON; of a large one, more than a limit.
func sizeOf(d *report.Document, limit int) (bytes int) {
	for _, rows := range [][]v1alpha1.ResultRow{d.Rows, d.Repetitions} {
		for i := range rows {
			text, err := json.Marshal(&rows[i])
			if bytes += len(text); err != nil || bytes > limit {
				return limit + 1
			}
		}
	}
	return bytes
}

func (d *documents) get(uid string) *report.Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[uid].document
}

func (d *documents) put(uid string, one *report.Document) {
	size := sizeOf(one, keptBytes)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string]keptDocument{}
	}
	if d.of[uid].document != nil || size > keptBytes {
		return
	}
	d.of[uid], d.uids, d.bytes = keptDocument{one, size}, append(d.uids, uid), d.bytes+size
	for d.bytes > keptBytes {
		d.bytes -= d.of[d.uids[0]].bytes
		delete(d.of, d.uids[0])
		d.uids = d.uids[1:]
	}
}

// document reads the result of a benchmark. That of one that is finished and archived
// changes no more, and is kept.
func (r *results) document(ctx context.Context, b *v1alpha1.Benchmark) (*report.Document, error) {
	if d := r.kept.get(string(b.UID)); d != nil {
		return d, nil
	}
	d, complete, err := stored.Shown(ctx, r.stored, r.profiles, b, func(*v1alpha1.ResultRow) {})
	if err != nil {
		return nil, fmt.Errorf("reading a result: %w", err)
	}
	if complete && b.Status.Phase.Finished() {
		r.kept.put(string(b.UID), d)
	}
	return d, nil
}

// slowly waits for one of the places of requests that read the results of benchmarks, and write
// them in a format.
func (r *results) slowly(ctx context.Context, of ...*v1alpha1.Benchmark) (release func(), _ error) {
	if slices.ContainsFunc(of, stored.IsLarge) {
		return place(ctx, r.large)
	}
	return place(ctx, r.slow)
}

func place(ctx context.Context, places chan struct{}) (release func(), _ error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, errUnavailable
	}
}

type historyPage struct {
	frame
	Namespace, Name string
	Runs            []archivedRun
	Text            string
	// Unreadable are the results that could not be read.
	Unreadable []history.Unreadable
	Most       int
}

type archivedRun struct {
	UID    string
	Name   string
	Phase  v1alpha1.BenchmarkPhase
	Time   time.Time
	Device string
	Rows   int
	Now    time.Time
	// Changes are the levels that change with the run.
	Changes []report.RunMark
}

// history shows the runs of a history in the archive, also of benchmarks that were deleted.
func (p *Page) history(ctx context.Context, q *request) (*answer, error) {
	namespace, name := q.PathValue("namespace"), q.PathValue("name")
	page := historyPage{frame: p.frame(q, "benchmarks", "History of "+name, 0), Namespace: namespace, Name: name, Most: historySize}
	var figures report.HistoryBuilder
	unreadable, err := p.results.eachArchived(ctx, q, func(d *report.Document) error {
		run := archivedRun{UID: d.Benchmark.UID, Name: d.Benchmark.Name, Phase: d.Phase, Rows: len(d.Rows), Now: q.lab.at}
		if d.StartTime != nil {
			run.Time = d.StartTime.Time
		}
		if d.Environment != nil {
			run.Device = d.Environment.Device
		}
		page.Runs = append(page.Runs, run)
		d.Report = fmt.Sprintf("%sarchive/%s/%s/%s", p.Base, namespace, name, d.Benchmark.UID)
		return figures.Add(d)
	})
	if err != nil {
		return nil, err
	}
	if len(page.Runs) == 0 && len(unreadable) == 0 {
		return nil, errNotFound
	}
	if page.Unreadable = unreadable; len(page.Runs) == 0 {
		return render("history", page)
	}
	slices.SortFunc(page.Runs, func(a, b archivedRun) int { return b.Time.Compare(a.Time) })
	h, err := figures.History()
	if err != nil {
		return nil, err
	}
	if q.URL.Query().Get("format") == string(report.FormatHTML) {
		h.Links = p.results.links(q, "history")
		var text bytes.Buffer
		if err := h.Write(&text, report.FormatHTML); err != nil {
			return nil, err
		}
		return &answer{kind: kinds[report.FormatHTML], policy: reportPolicy, content: text.Bytes()}, nil
	}
	page.Text = h.Text()
	marks := h.Marks()
	for i := range page.Runs {
		page.Runs[i].Changes = marks[page.Runs[i].UID]
	}
	return render("history", page)
}

// mayArchive fails unless the person may read a history of the archive.
func (r *results) mayArchive(ctx context.Context, q *request) error {
	namespace, name := q.PathValue("namespace"), q.PathValue("name")
	for _, resource := range []string{"benchmarks", "benchmarkresults"} {
		may, err := q.may(ctx, "list", resource, namespace, "")
		if err != nil {
			return err
		}
		if !may {
			return errNotFound
		}
	}
	if r.archive == nil || !isName(namespace) || !isName(name) {
		return errNotFound
	}
	return nil
}

// eachArchived reads the figures of the results of a history that the person may read. It returns
// the results that could not be read.
func (r *results) eachArchived(ctx context.Context, q *request, do func(*report.Document) error) ([]history.Unreadable, error) {
	if err := r.mayArchive(ctx, q); err != nil {
		return nil, err
	}
	release, err := place(ctx, r.large) // Each of its runs may be large.
	if err != nil {
		return nil, err
	}
	defer release()
	key, err := r.historyOf(ctx, q)
	if err != nil {
		return nil, err
	}
	return r.archive.EachOf(ctx, key, historySize, do)
}

// historyOf returns the key of the history that a request names: of the namespace that exists now.
func (r *results) historyOf(ctx context.Context, q *request) (history.Key, error) {
	key, err := stored.HistoryOf(ctx, r.stored, q.PathValue("namespace"), q.PathValue("name"))
	if apierrors.IsNotFound(err) {
		err = errNotFound
	}
	return key, err
}

// isName reports whether a text can be the name of an object: it leads to no other folder of
// the archive.
func isName(text string) bool {
	return text != "" && len(text) <= longestFilter && !strings.Contains(text, "..") &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" && text[0] != '.'
}

// archived shows one result of the archive.
func (r *results) archived(ctx context.Context, q *request) (*answer, error) {
	if err := r.mayArchive(ctx, q); err != nil {
		return nil, err
	}
	if !isName(q.PathValue("uid")) {
		return nil, errNotFound
	}
	key, err := r.historyOf(ctx, q)
	if err != nil {
		return nil, err
	}
	if r.apart != nil {
		a, format, err := download(q, key.Name)
		if err != nil {
			return nil, err
		}
		of := &apart.Document{History: key, UID: q.PathValue("uid")}
		return r.apartly(q.Context(), a, fmt.Sprint(*of, format), apart.Task{Archive: r.archiveURL, Document: of, Format: format, Links: r.links(q, "history")})
	}
	release, err := place(ctx, r.large)
	if err != nil {
		return nil, err
	}
	defer release()
	d, err := r.archive.Result(ctx, key, q.PathValue("uid"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNotFound
	case err != nil:
		return nil, err
	}
	return written(d, q, r.links(q, "history"))
}
