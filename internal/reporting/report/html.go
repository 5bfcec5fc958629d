package report

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method"
	"nodrop.dev/nodrop/internal/measure/result"
	"nodrop.dev/nodrop/internal/reporting/report/layout"
)

//go:embed html/*.tmpl html/style.css
var pages embed.FS

var style = func() template.CSS {
	text, err := pages.ReadFile("html/style.css")
	if err != nil {
		panic(err)
	}
	//nolint:gosec // the style is a part of the program
	return template.CSS(text)
}()

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"style": func() template.CSS { return style },
	"add":   func(a, b float64) float64 { return a + b },
	"mid":   func(a, b float64) float64 { return (a + b) / 2 },
}).ParseFS(pages, "html/*.tmpl"))

// page contains the parts that every HTML report has.
type page struct {
	Title, Kicker, Subtitle string
	// Tone is the color of the verdict: good, bad or open.
	Verdict, Tone string
	Message       string
	// Doubt is the number of rows that the verdict excludes, as text.
	Doubt string
	Notes []string
	// Banner states at the top of the page that nothing was measured.
	Banner string
	// Running stands at the foot of every printed page.
	Running string
	// Customer and Logo stand at the head of the page.
	Customer string
	Logo     template.URL
	// Summary are the main results in a few sentences.
	Summary []string
	Tiles   []tile
	// Contents leads to the sections, and Links to other pages.
	Contents []Link
	Links    []Link
}

type section struct {
	ID, Title, Purpose string
	// Sentence is the result in words.
	Sentence string
	Table    htmlTable
	Notes    []htmlNote
	// Captures are the files with frames that were captured, of rows by their names.
	Captures []htmlCapture
	Charts   []*layout.Chart
	// Parts are the tables of what a row has several of: flows or traffic classes, events.
	Parts []furtherTable
	// Percentiles of latency; nil where there are none.
	Percentiles *furtherTable
	// Further tables say in another form what the first one says.
	Further []furtherTable
}

// furtherTable is a table with a title of its own.
type furtherTable struct {
	Title   string
	Table   htmlTable
	Caption string
}

type htmlCapture struct{ Row, File, Frames string }

type htmlNote struct {
	Rows  string
	Texts []string
}

type htmlEntry struct {
	Name  string
	Texts []string
}

type htmlValidity struct {
	Name, Meaning string
	Rows          int
}

type resultPage struct {
	page
	// Gates are their verdicts; nil without any.
	Gates    *section
	Sections []section
	// Differences are the differences between the variants of the device. Reading explains
	// them.
	Differences []section
	Reading     string
	// FullLoad lists the load that each port sends at 100 % of the full load; empty if that is
	// line rate.
	FullLoad   string
	Validities []htmlValidity
	// Limits describe what the figures do not show, and Method how they were measured.
	Limits   []string
	Method   string
	Topology *topology
	// Gone is true if the rows were measured, and are no more.
	Gone     bool
	Appendix []htmlEntry
	// Frames is true if figures of frames are explained.
	Frames    bool
	Manifests string
}

// html is the report in one file: it fetches nothing, and needs no script.
func (d *Document) html() ([]byte, error) {
	manifests, err := manifestsOf(d.Benchmark, d.Spec, d.Profile)
	if err != nil {
		return nil, err
	}
	p := resultPage{
		page: page{
			Kicker: "Benchmark report", Title: cmp.Or(d.Cover.Title, d.Benchmark.Name), Subtitle: subtitle(d.Environment, d.StartTime),
			Verdict: string(d.Phase), Tone: ToneOf(d.Phase), Message: htmlText(sentence(d.Message)), Doubt: doubtText(d.Rows),
			Running:  "NoDrop · " + d.Benchmark.Namespace + "/" + d.Benchmark.Name,
			Customer: d.customer(), Logo: d.Cover.Logo.URL(), Links: d.Cover.Links,
			Summary: d.summary(), Tiles: d.tiles(),
		},
		Gone: d.judgedWithoutRows(), Frames: d.hasFrames(), Limits: d.limits(), Method: d.methodParagraph(), Topology: d.topology(),
		Gates: d.gatesSection(), FullLoad: d.fullLoad(), Manifests: manifests, Differences: differenceSections(d.Differences), Reading: readingDifferences,
	}
	if d.simulated() {
		p.Banner, p.Running = simulatedBanner, "SIMULATED · "+p.Running
	}
	for _, text := range furtherNotes(d.Notes) {
		p.Notes = append(p.Notes, foldPorts(htmlText(sentence(text))))
	}
	unit := layout.UnitFor(highestBitRate(d.Rows))
	for i, t := range d.byTest() {
		p.Sections = append(p.Sections, t.section(sectionID(i), unit))
	}
	if d.judgedWithoutRows() && !slices.ContainsFunc(d.Notes, func(text string) bool { return strings.Contains(text, "are gone") || strings.Contains(text, "is gone") }) {
		p.Notes = append(p.Notes, sentence(rowsMissing))
	}
	for _, v := range validities {
		count := 0
		for _, row := range d.Rows {
			if row.Validity == v.validity {
				count++
			}
		}
		p.Validities = append(p.Validities, htmlValidity{string(v.validity), sentence(v.meaning), count})
	}
	for _, e := range d.appendix().merged() {
		texts := slices.Clone(e.texts)
		for i, text := range texts {
			texts[i] = foldPorts(htmlText(text))
			if e.name == "Trials" || e.name == "Measured" {
				texts[i] = spaced(texts[i])
			}
		}
		p.Appendix = append(p.Appendix, htmlEntry{e.name, texts})
	}
	p.Contents = p.contents()
	return render("result", p)
}

// contents leads to the sections of the report.
func (p *resultPage) contents() []Link {
	var all []Link
	if p.Gates != nil {
		all = append(all, Link{p.Gates.Title, "#" + p.Gates.ID})
	}
	for _, s := range p.Sections {
		all = append(all, Link{"Test " + s.Title, "#" + s.ID})
	}
	for _, s := range p.Differences {
		all = append(all, Link{s.Title, "#" + s.ID})
	}
	return append(all, Link{"Limits of validity", "#limits"}, Link{"Method and test bed", "#method"}, Link{"How to read the figures", "#reading"}, Link{"To repeat this", "#repeat"})
}

func render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// section is the part of the test in the report.
func (t testResults) section(id string, unit layout.BitUnit) section {
	rows := t.rows
	s := section{ID: id, Title: t.name(), Purpose: sentence(t.purpose()), Table: gridHTML(t.table(unit), "Results of test "+t.name())}
	for _, row := range rows {
		if c := row.Capture; c != nil {
			s.Captures = append(s.Captures, htmlCapture{labelsOf([]v1alpha1.ResultRow{row}, rows), c.File, layout.Quantity(c.Frames, "frame")})
		}
	}
	for _, n := range tableNotes(withoutCaptures(rows)) {
		s.note(n)
	}
	s.Table.doubt(rows)
	var charts []*layout.Chart
	if method.IsThroughput(&rows[0]) {
		charts = append(charts, throughputBySize(id+"-throughput", rows, unit), latencyBySize(id+"-latency", rows))
	} else {
		charts = append(charts, goodputByServers(id+"-goodput", rows),
			latencyAgainstLoad(id+"-average", "Average", rows, func(l *v1alpha1.LatencySummary) int64 { return l.AvgNs }),
			latencyAgainstLoad(id+"-maximum", "Maximum", rows, func(l *v1alpha1.LatencySummary) int64 { return l.MaxNs }))
	}
	for i, row := range rows {
		charts = append(charts, t.ratesOverTime(fmt.Sprintf("%s-rates-%d", id, i+1), row)...)
	}
	for _, c := range charts {
		if c != nil {
			s.Charts = append(s.Charts, c)
		}
	}
	for _, further := range t.furtherTables() {
		table := furtherTable{Title: further.title, Table: gridHTML(further.grid, further.title+" of test "+rows[0].Test)}
		table.Table.doubt(further.rows)
		s.Parts = append(s.Parts, table)
	}
	if g := t.percentiles(); g != nil {
		s.Percentiles = &furtherTable{Title: percentilesTitle, Table: gridHTML(g, percentilesTitle+" of test "+rows[0].Test)}
		s.Percentiles.Table.doubt(rows)
	}
	for _, jitter := range t.jitterByLoad() {
		s.Further = append(s.Further, furtherTable{jitter.title, gridHTML(jitter.grid, jitter.title+" of test "+rows[0].Test), jitter.caption})
	}
	return s
}

// withoutCaptures are the rows without what a page has links for.
func withoutCaptures(rows []v1alpha1.ResultRow) []v1alpha1.ResultRow {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Capture = nil
	}
	return rows
}

// doubt marks the rows that cannot be judged by, in a table of one line per row.
func (t *htmlTable) doubt(rows []v1alpha1.ResultRow) {
	for i, row := range rows {
		if !result.Trusted(row.Validity) {
			t.Rows[i].Class = strings.TrimSpace(t.Rows[i].Class + " doubtful")
		}
	}
}

// note adds a note; those about the same rows stand together.
func (s *section) note(n note) {
	if last := len(s.Notes) - 1; last < 0 || s.Notes[last].Rows != n.rows {
		s.Notes = append(s.Notes, htmlNote{Rows: n.rows})
	}
	last := &s.Notes[len(s.Notes)-1]
	last.Texts = append(last.Texts, foldPorts(htmlText(sentence(n.text))))
}

// doubtful counts the rows that forbid to judge by them.
func doubtful(rows []v1alpha1.ResultRow) int {
	count := 0
	for _, row := range rows {
		if !result.Trusted(row.Validity) {
			count++
		}
	}
	return count
}

// doubtText returns how many rows are in doubt; empty if none is.
func doubtText(rows []v1alpha1.ResultRow) string {
	if count := doubtful(rows); count > 0 {
		return fmt.Sprintf("%d of %d rows are in doubt: see validity", count, len(rows))
	}
	return ""
}

// ToneOf returns the tone of a phase, which is its color in reports and on the lab page: good, bad,
// plain, open, busy or wait.
func ToneOf(phase v1alpha1.BenchmarkPhase) string {
	switch phase {
	case v1alpha1.PhasePassed:
		return "good"
	case v1alpha1.PhaseMeasured:
		return "plain"
	case v1alpha1.PhaseFailed, v1alpha1.PhaseError:
		return "bad"
	case v1alpha1.PhaseRunning, v1alpha1.PhasePreparing, v1alpha1.PhaseCleaningUp:
		return "busy"
	case v1alpha1.PhaseInconclusive, v1alpha1.PhaseInvalid, v1alpha1.PhaseAborted:
		return "open"
	}
	return "wait"
}

// subtitle returns the device and the day of the measurement.
func subtitle(env *v1alpha1.ResultEnvironment, start *metav1.Time) string {
	var parts []string
	if env != nil && env.Device != "" {
		parts = append(parts, env.Device)
	}
	if start != nil {
		parts = append(parts, start.UTC().Format("2 January 2006"))
	}
	return sentence(strings.Join(parts, " · "))
}

// device returns the device of the bed; empty if the document has no bed.
func (d *Document) device() v1alpha1.Device {
	if d.Bed == nil {
		return v1alpha1.Device{}
	}
	return d.Bed.Device
}

// manifestsOf returns the YAML manifests that repeat the benchmark.
func manifestsOf(benchmark Identity, spec v1alpha1.BenchmarkSpec, profile *v1alpha1.TrafficProfileSpec) (string, error) {
	spec.Abort = false
	type meta struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace,omitempty"`
	}
	type manifest struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   meta   `json:"metadata"`
		Spec       any    `json:"spec"`
	}
	api := v1alpha1.GroupVersion.String()
	objects := []manifest{{api, "Benchmark", meta{benchmark.Name, benchmark.Namespace}, spec}}
	if profile != nil {
		objects = append(objects, manifest{api, "TrafficProfile", meta{spec.TrafficProfileName, benchmark.Namespace}, profile})
	}
	var texts []string
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return strings.Join(texts, "---\n"), nil
}

// sentence begins a text with a capital letter, unless its first word is a name.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	first, _, _ := strings.Cut(text, " ")
	if strings.ToLower(first) == first && !strings.ContainsAny(first, "0123456789./-_") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}
