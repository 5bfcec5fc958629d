package labpage

import (
	"context"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/manifests/requirements"
)

type benchmarkPage struct {
	frame
	Run runView
	B   *v1alpha1.Benchmark
	// Tests of the benchmark with their methods.
	Tests []testView
	// Plot is the search of the row in hand; nil without one.
	Plot     *searchPlot
	Selector string
	History  string
	Schedule string
	// Rows reports whether there are rows that the person may read.
	Rows bool
	// Grafana is the address of the run in Grafana; empty for none.
	Grafana string
	// Archive reports whether the lab has one, of which the person may read this history.
	Archive bool
	// Others are results that it can be compared with.
	Others []runView
}

type testView struct{ Name, Method, Headline string }

// find is the benchmark of a request, if the person may get it.
func (q *request) find(ctx context.Context, namespace, name string) (*v1alpha1.Benchmark, error) {
	may, err := q.may(ctx, "get", "benchmarks", namespace, name)
	if err != nil {
		return nil, err
	}
	b := q.lab.byKey[types.NamespacedName{Namespace: namespace, Name: name}]
	if !may || b == nil {
		return nil, errNotFound
	}
	return b, nil
}

// mayResults reports whether the person may read the rows of a namespace.
func (q *request) mayResults(ctx context.Context, namespace string) (bool, error) {
	return q.may(ctx, "list", "benchmarkresults", namespace, "")
}

func (p *Page) benchmark(ctx context.Context, q *request) (*answer, error) {
	b, err := q.find(ctx, q.PathValue("namespace"), q.PathValue("name"))
	if err != nil {
		return nil, err
	}
	refresh := 5
	if b.Status.Phase.Finished() {
		refresh = 60
	}
	page := benchmarkPage{
		frame: p.frame(q, "benchmarks", b.Name, refresh), Run: q.lab.runOf(b), B: b,
		History: b.Spec.History(b.Name), Schedule: b.Labels[v1alpha1.LabelSchedule],
	}
	if s := b.Spec.TestBedSelector; s != nil {
		var parts []string
		for key, value := range s.MatchLabels {
			parts = append(parts, key+"="+value)
		}
		page.Selector = strings.Join(parts, ", ")
	}
	if r := b.Spec.TestBedRequirements; r != nil {
		page.Selector = requirements.Format(r)
	}
	page.Plot = plotOf(page.Run.Progress)
	may, err := q.mayResults(ctx, b.Namespace)
	if err != nil {
		return nil, err
	}
	page.Rows = may && b.Status.Results != nil && b.Status.Results.Rows > 0
	page.Archive = may && p.Archive != nil
	page.Grafana = grafanaURL(p.GrafanaResults, b)
	headlines := map[string]string{}
	if r := b.Status.Results; r != nil {
		for _, h := range r.Headlines {
			headlines[h.Test] = h.Text
		}
	}
	for i := range b.Spec.Tests {
		t := &b.Spec.Tests[i]
		page.Tests = append(page.Tests, testView{t.Name, methodOf(t), headlines[t.Name]})
	}
	if page.Rows {
		page.Others = others(q.lab, b)
	}
	return render("benchmark", page)
}

// others are finished benchmarks of the same namespace with rows, those of the same history
// first.
func others(lab *snapshot, b *v1alpha1.Benchmark) []runView {
	var same, rest []runView
	history := b.Spec.History(b.Name)
	for _, o := range lab.finished {
		if o.Namespace != b.Namespace || o.Name == b.Name || o.Status.Results == nil || o.Status.Results.Rows == 0 {
			continue
		}
		if o.Spec.History(o.Name) == history {
			same = append(same, lab.runOf(o))
		} else {
			rest = append(rest, lab.runOf(o))
		}
		if len(same) == 2*lastSize {
			break
		}
	}
	all := append(same, rest...)
	return all[:min(len(all), 2*lastSize)]
}

// methodOf is the member of a test that is given, as the manifest names it.
func methodOf(t *v1alpha1.Test) string {
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return ""
}
