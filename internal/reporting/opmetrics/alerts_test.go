package opmetrics_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/internal/reporting/opmetrics"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

const (
	alertsDir = "../../../charts/nodrop/files/alerts"
	alertsDoc = "../../../docs/alerts.md"
)

var update = flag.Bool("update", false, "write the table of metrics into docs/alerts.md")

// rule is an alert rule, as far as tests read it.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(alertsDir, "rules.yaml"))), &file); err != nil {
		t.Fatal(err)
	}
	var all []rule
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no rules")
	}
	return all
}

// Prometheus takes the rules, and they alert when they should.
func TestAlertRules(t *testing.T) {
	promtool := testserver.Binary(t, "promtool", "promtool", "hack/prometheus/build")
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		cmd := exec.CommandContext(t.Context(), promtool, args...)
		cmd.Dir = alertsDir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

var (
	metricName = regexp.MustCompile(`\b(?:nodrop|controller_runtime)_[a-z_]+`)
	selector   = regexp.MustCompile(`(nodrop_[a-z_]+)\{([^}]*)\}`)
	labelName  = regexp.MustCompile(`([a-z_]+)\s*=`)
)

// Every rule reads what operator or recorder export, by labels that it has, and is tested
// both for silence and for its alert.
func TestAlertsReadWhatIsExported(t *testing.T) {
	// TestMetrics of package operator reads this one of controller-runtime.
	labels := map[string][]string{"controller_runtime_reconcile_errors_total": {"controller"}}
	for _, d := range opmetrics.Definitions() {
		labels[d.Name] = d.Labels
		if d.Type == "Histogram" {
			for _, part := range []string{"_count", "_sum", "_bucket"} {
				labels[d.Name+part] = d.Labels
			}
			delete(labels, d.Name)
		}
	}
	tests := read(t, filepath.Join(alertsDir, "rules_test.yaml"))
	for _, r := range rules(t) {
		names := metricName.FindAllString(r.Expr, -1)
		if len(names) == 0 {
			t.Errorf("%s reads no metric", r.Alert)
		}
		for _, name := range names {
			if _, exported := labels[name]; !exported {
				t.Errorf("%s reads %s, which nobody exports", r.Alert, name)
			}
		}
		for _, s := range selector.FindAllStringSubmatch(r.Expr, -1) {
			for _, l := range labelName.FindAllStringSubmatch(s[2], -1) {
				if !slices.Contains(labels[s[1]], l[1]) {
					t.Errorf("%s selects %s by %s, which it does not have", r.Alert, s[1], l[1])
				}
			}
		}
		if !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s has no severity, summary or description", r.Alert)
		}
		if !strings.Contains(tests, "alertname: "+r.Alert+"}") || !strings.Contains(tests, "alertname: "+r.Alert+"\n    exp_alerts:") {
			t.Errorf("rules_test.yaml does not test that %s alerts, and that it does not", r.Alert)
		}
		if want := fmt.Sprintf("\n### %s\n", r.Alert); !strings.Contains(read(t, alertsDoc), want) {
			t.Errorf("docs/alerts.md has no section on %s", r.Alert)
		}
	}
}

// The table in docs/alerts.md is that of the definitions. With -update the test writes it.
func TestDocumentedMetrics(t *testing.T) {
	const begin, end = "<!-- metrics -->\n", "<!-- end of metrics -->\n"
	var table strings.Builder
	for _, c := range []opmetrics.Component{opmetrics.ComponentOperator, opmetrics.ComponentRecorder} {
		fmt.Fprintf(&table, "\nOf the %s:\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", c)
		for _, d := range opmetrics.Definitions() {
			if d.Component == c {
				fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", d.Name, strings.ToLower(d.Type), strings.Join(d.Labels, ", "), d.Help)
			}
		}
	}
	table.WriteString("\n")
	text := read(t, alertsDoc)
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("docs/alerts.md has no %q", begin)
	}
	want := before + begin + table.String() + end + after
	if *update {
		if err := os.WriteFile(alertsDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != text {
		t.Errorf("%s does not have the metrics that are exported: run this test with -update", alertsDoc)
	}
}
