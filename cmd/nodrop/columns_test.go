//go:build linux && !standalone

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/reporting/report"
)

// sample is a command that prints wide tables: a run of it, or what it writes.
type sample struct {
	// args of runs, without --kubeconfig.
	args [][]string
	// cluster reports whether the runs need a cluster.
	cluster bool
	// once marks commands that change the cluster, whose runs have no other formats.
	once bool
	// written is a result of a command that needs more than this test has.
	written interface {
		Write(io.Writer, report.Format) error
	}
}

// testdata returns a result of the tests of reports.
func testdata(name string) string {
	return filepath.Join("..", "..", "internal", "reporting", "report", "testdata", name+".json")
}

// samples are the commands with the flag --output, with wide data.
func samples(t *testing.T) map[string]sample {
	long := func(name string) string { return name + strings.Repeat("-very-long-name", 3) }
	d := doctor.Report{Lab: "nodrop-lab", Namespace: "nodrop-system", Engines: []doctor.Summary{{Engine: doctor.XDP, State: doctor.Lacking, Missing: 1, MissingChecks: []string{long("Multus")}}},
		Findings: []doctor.Finding{{Engine: doctor.XDP, Node: long("worker"), Check: "Multus", Level: doctor.Missing, Seen: "no pod of it in " + long("kube-system"), Advice: "install " + long("it") + " as its documentation describes"}}}
	record := &configure.Record{Sessions: 2, Software: long("software"), BeforeDigest: "sha256:" + strings.Repeat("0", 64), AfterDigest: "sha256:" + strings.Repeat("1", 64), Took: 3 * time.Second}
	var results [][]string
	for _, name := range []string{"chassis", "curves", "gated", "mixes", "router", "variants"} {
		results = append(results, []string{"report", testdata(name)})
	}
	file := manifests(t, strings.Replace(simBenchmark, "resolution: 0.0001%", "resolution: 10%", 1), simManifests)
	return map[string]sample{
		"report":    {args: results},
		"compare":   {args: [][]string{{"compare", long("before") + "=" + testdata("router"), long("after") + "=" + testdata("router")}}},
		"history":   {args: [][]string{{"history", testdata("router"), testdata("router")}}},
		"verify":    {args: [][]string{{"verify", testdata("router")}}},
		"validate":  {args: [][]string{{"validate", "-f", file}}},
		"run":       {args: [][]string{{"run", "-f", file}}},
		"queue":     {args: [][]string{{"queue"}, {"queue", "--limit", "1"}}, cluster: true},
		"watch":     {args: [][]string{{"watch", "finished"}}, cluster: true},
		"reserve":   {args: [][]string{{"reserve", "bed", "--name", long("fans"), "--from", "2030-12-01T22:00", "--for", "2h", "--rule", "FREQ=DAILY;COUNT=20"}}, cluster: true, once: true},
		"extend":    {args: [][]string{{"extend", long("once"), "--by", "1h"}}, cluster: true, once: true},
		"trigger":   {args: [][]string{{"trigger", "nightly"}}, cluster: true, once: true},
		"doctor":    {written: diagnosis(d)},
		"configure": {written: change{record}},
	}
}

// wideLab fills a cluster with objects of long names.
func wideLab(t *testing.T) *apiServer {
	t.Helper()
	c := newAPIServer(t)
	c.bedWithHolder("bed", "team-with-a-long-name/benchmark-with-a-long-name", 5)
	c.benchmark("waiting-benchmark-with-a-name-as-long-as-pipelines-make-them", inPhase(v1alpha1.PhaseQueued, ""))
	c.benchmark("waiting-2", nil)
	c.benchmark("finished", inPhase(v1alpha1.PhasePassed, strings.Repeat("all rows were measured ", 5)))
	c.store("finished", oneRow...)
	s := &v1alpha1.BenchmarkSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"}}
	s.Spec.Schedule, s.Spec.Suspend = "0 2 * * *", true
	s.Spec.BenchmarkTemplate.Spec.TestBedName, s.Spec.BenchmarkTemplate.Spec.TrafficProfileName = "bed", "pairs"
	s.Spec.BenchmarkTemplate.Spec.Tests = []v1alpha1.Test{{Name: "throughput", Throughput: &v1alpha1.ThroughputTest{}}}
	if err := c.client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	once := "once" + strings.Repeat("-very-long-name", 3)
	c.nodrop(t, "reserve", "bed", "--name", once, "--from", "2030-11-01T22:00", "--for", "2h").wants(0, once, "")
	var bed v1alpha1.TestBed
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "bed"}, &bed); err != nil {
		t.Fatal(err)
	}
	from := metav1.NewTime(time.Date(2030, 11, 1, 22, 0, 0, 0, time.UTC))
	bed.Status.Reservations = []v1alpha1.BedReservation{{Reservation: "default/" + once, From: from, Until: metav1.NewTime(from.Add(2 * time.Hour))}}
	if err := c.client.Status().Update(t.Context(), &bed); err != nil {
		t.Fatal(err)
	}
	return c
}

// execute runs a command in this process.
func execute(args []string, out io.Writer) error {
	root := newRootCommand("nodrop")
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(io.Discard)
	return root.Execute()
}

var colorSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// onTerminal returns the lines that a function writes to a terminal of 80 columns.
func onTerminal(t *testing.T, write func(io.Writer) error) []string {
	t.Helper()
	master, file, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := pty.Setsize(file, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		var all bytes.Buffer
		_, _ = io.Copy(&all, master)
		read <- all.String()
	}()
	err = write(terminal.NewScreen(file, false))
	_ = file.Close()
	text := <-read
	if err != nil && text == "" {
		t.Fatal(err)
	}
	return strings.Split(strings.ReplaceAll(colorSequence.ReplaceAllString(text, ""), "\r\n", "\n"), "\n")
}

func widest(lines []string) string {
	return slices.MaxFunc(lines, func(a, b string) int { return utf8.RuneCountInString(a) - utf8.RuneCountInString(b) })
}

// TestTablesFitATerminal prints the tables of all commands to a terminal of 80 columns and to a pipe, which
// gets wider ones; and what they print as JSON and as YAML, which is the same.
func TestTablesFitATerminal(t *testing.T) {
	sendsNoFrames(t)
	c := wideLab(t)
	all := samples(t)
	for _, command := range newRootCommand("nodrop").Commands() {
		flag := command.Flags().Lookup("output")
		if flag == nil || command.GroupID != forPeople {
			continue
		}
		s, ok := all[command.Name()]
		if !ok {
			t.Errorf("nodrop %s has --output and no sample in this test", command.Name())
			continue
		}
		t.Run(command.Name(), func(t *testing.T) {
			if !strings.HasPrefix(flag.Usage, "table, json, yaml") && !strings.HasPrefix(flag.Usage, "table, json or yaml") || flag.DefValue != "table" {
				t.Errorf("--output has %q, and %q by default", flag.Usage, flag.DefValue)
			}
			if s.written != nil {
				writes(t, s.written.Write, true)
				return
			}
			for _, args := range s.args {
				if s.cluster {
					args = append(slices.Clone(args), "--kubeconfig", c.kubeconfig)
				}
				refusesFormats(t, command, args)
				run := func(w io.Writer, format report.Format) error {
					return execute(append(slices.Clone(args), "-o", string(format)), w)
				}
				if s.once {
					fits(t, func(w io.Writer) error { return run(w, report.FormatTable) })
					continue
				}
				writes(t, run, command.Name() != "validate" && command.Name() != "run")
			}
		})
	}
}

// fits checks that no line is wider than the terminal.
func fits(t *testing.T, write func(io.Writer) error) {
	t.Helper()
	lines := onTerminal(t, write)
	if len(lines) < 2 {
		t.Errorf("it prints %q", lines)
	}
	if line := widest(lines); utf8.RuneCountInString(line) > 80 {
		t.Errorf("%d columns in a terminal of 80: %q in\n%s", utf8.RuneCountInString(line), line, strings.Join(lines, "\n"))
	}
}

// writes checks a table on a terminal and in a pipe, and the other formats of objects.
func writes(t *testing.T, write func(io.Writer, report.Format) error, wide bool) {
	t.Helper()
	fits(t, func(w io.Writer) error { return write(w, report.FormatTable) })
	var piped, asJSON, asYAML bytes.Buffer
	for format, to := range map[report.Format]io.Writer{report.FormatTable: &piped, report.FormatJSON: &asJSON, report.FormatYAML: &asYAML} {
		_ = write(to, format) // Its error is the verdict of some commands.
	}
	if line := widest(strings.Split(piped.String(), "\n")); wide && utf8.RuneCountInString(line) <= 80 {
		t.Errorf("a pipe gets at most %q, so that this sample shows nothing", line)
	}
	var a, b any
	if err := json.Unmarshal(asJSON.Bytes(), &a); err != nil {
		t.Fatalf("-o json: %v: %s", err, &asJSON)
	}
	if err := yaml.Unmarshal(asYAML.Bytes(), &b); err != nil {
		t.Fatalf("-o yaml: %v: %s", err, &asYAML)
	}
	for _, v := range []any{a, b} {
		if m, is := v.(map[string]any); is {
			for _, moving := range []string{"time", "contentDigest", "startTime", "completionTime", "rows", "environment"} {
				delete(m, moving)
			}
		}
	}
	if diff := cmp.Diff(a, b); diff != "" || a == nil {
		t.Errorf("-o yaml differs from -o json (-json +yaml):\n%s", diff)
	}
}

// refusesFormats checks the message about an unknown format.
func refusesFormats(t *testing.T, command *cobra.Command, args []string) {
	t.Helper()
	err := execute(append(slices.Clone(args), "-o", "docx"), io.Discard)
	if err == nil || !strings.Contains(err.Error(), `"docx" is not an output format: give table, json`) {
		t.Errorf("nodrop %s -o docx: %v", command.Name(), err)
	}
}

// The messages of mistakes in flags name the flag, its value, and what it accepts.
func TestMistakesInFlags(t *testing.T) {
	sendsNoFrames(t)
	for want, args := range map[string][]string{
		`--port is "70000": give a whole number from 0 to 65535`:                                   {"page", "--port", "70000"},
		`"yml" is not an output format: give table, json, yaml or name`:                            {"queue", "-o", "yml"},
		`--limit is "many": give a whole number`:                                                   {"queue", "--limit", "many"},
		`"xml" is not an output format: give table, json, yaml or name`:                            {"trigger", "x", "-o", "xml"},
		`--timeout is "soon": give a duration such as 90s or 1h30m`:                                {"watch", "x", "--timeout", "soon"},
		`--grafana-results-url is "grafana": give an address that begins with https:// or http://`: {"page", "--grafana-results-url", "grafana"},
	} {
		if err := execute(args, io.Discard); err == nil || err.Error() != want {
			t.Errorf("nodrop %s: %v, want %s", strings.Join(args, " "), err, want)
		}
	}
}

// A finished benchmark has nothing to follow: its result is printed, and nothing else.
func watchesWhatHasFinished(t *testing.T, c *apiServer) {
	c.benchmark("over", inPhase(v1alpha1.PhasePassed, "all rows were measured"))
	c.store("over", oneRow...)
	p := c.nodrop(t, "watch", "over")
	p.wants(0, "13.592    69.6875", "")
	if text := p.stderr.String(); text != "" {
		t.Errorf("stderr has %q", text)
	}
	if n := strings.Count(p.stdout.String(), "all rows were measured"); n != 1 {
		t.Errorf("the message is there %d times:\n%s", n, &p.stdout)
	}
}
