package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const repository = "../.."

// catalogueRows are the rows of the catalogue that docs/catalogue.md speaks of.
var catalogueRows = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33", "34"}

// elsewhere are the samples that TestSamplesOnTheSimulatedEngine does not run, with
// the test that does.
var elsewhere = map[string]string{
	"reference": "TestPublishedTablesComeBack", "calibration": "TestCalibrateAndRun", "compare": "TestCompareGivesThePublishedDifferences",
	"acl": "TestRunAccessLists", "nat": "TestRunNAT", "mirror": "TestRunMirror", "filters": "TestRunFilters", "classes": "TestRunClasses",
	"mpls": "TestRunLabels", "mpls-push": "TestRunPush", "mpls-linux": "TestRunLinuxLabels", "mpls-linux-push": "TestRunLinuxLabels", "ldp-capacity": "TestRunLabelCapacity",
	"device-reset": "TestRunCommandResets", "machine": "TestRunMachine", "acl-scale": "TestRunConfigurationScale", "incast-linux": "TestRunIncast", "incast-router": "TestIncast", "connections-linux": "TestRunConnections", "rpc-latency-linux": "TestRunRPCLatency", "collectives-linux": "TestRunCollectives", "bulk-linux": "TestRunBulk", "message-rate-linux": "TestRunMessageRate",
}

var (
	sampleLinks = regexp.MustCompile(`\[([a-z0-9-]+)\]\(\.\./config/samples/([a-z0-9-]+)\)`)
	quoted      = regexp.MustCompile("`([A-Za-z0-9]+)`")
	testNames   = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	devices     = regexp.MustCompile(`^(bridge|router|cables|router and bridge): `)
)

// catalogueRow is a line of the table.
type catalogueRow struct {
	number, sim, xdp string
	samples, methods []string
}

// TestCatalogueIsTrue holds docs/catalogue.md against the samples and the tests: what
// it names is there, and what is there it names.
func TestCatalogueIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "docs", "catalogue.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := catalogue(t, string(text))
	var numbers []string
	inTable, methods := map[string]bool{}, map[string]bool{}
	tests := testFunctions(t)
	for _, row := range rows {
		numbers = append(numbers, row.number)
		manifests := ""
		for _, name := range row.samples {
			inTable[name] = true
			manifests += sampleBenchmarks(t, name)
			if where := elsewhere[name]; where == "" && !simulatedSample(t, filepath.Join(samplesDir, name)) {
				t.Errorf("row %s: sample %s is not on the engine sim, so that no test runs it", row.number, name)
			} else if where != "" && !strings.Contains(row.sim+row.xdp, "`"+where+"`") {
				t.Errorf("row %s: sample %s is run by %s, which the line does not name", row.number, name, where)
			}
		}
		for _, method := range row.methods {
			methods[method] = true
			if !strings.Contains(manifests, "\n    "+method+":") {
				t.Errorf("row %s: no sample of the line measures %s", row.number, method)
			}
		}
		if len(row.samples) == 0 || len(row.methods) == 0 || !strings.HasPrefix(row.sim, "yes") && !strings.HasPrefix(row.sim, "no: ") {
			t.Errorf("row %s: samples %v, methods %v, sim %q", row.number, row.samples, row.methods, row.sim)
		}
		row.namesTests(t, tests)
	}
	if !slices.Equal(numbers, catalogueRows) {
		t.Errorf("rows %v, want %v", numbers, catalogueRows)
	}
	for _, method := range members() {
		if !methods[method] {
			t.Errorf("method %s is in no line", method)
		}
	}
	everySampleIsNamed(t, string(text), inTable)
}

// namesTests checks that the tests of a line exist, and that those with real frames
// are about its methods.
func (row catalogueRow) namesTests(t *testing.T, tests map[string]string) {
	t.Helper()
	for _, name := range namesOf(testNames, row.sim+row.xdp) {
		if tests[name] == "" {
			t.Errorf("row %s: there is no test %s", row.number, name)
		}
	}
	if strings.HasPrefix(row.xdp, "no: ") {
		return
	}
	named := namesOf(testNames, row.xdp)
	if !devices.MatchString(row.xdp) || len(named) == 0 {
		t.Errorf("row %s: xdp is %q: name the device and the tests, or say no: and why", row.number, row.xdp)
	}
	files := ""
	for _, name := range named {
		files += tests[name]
	}
	for _, name := range row.samples {
		if slices.Contains(named, elsewhere[name]) { // the test reads the sample itself
			files += sampleBenchmarks(t, name)
		}
	}
	for _, method := range row.methods {
		if !strings.Contains(strings.ToLower(files), strings.ToLower(method)+":") {
			t.Errorf("row %s: no test of %v measures %s with real frames", row.number, named, method)
		}
	}
}

// everySampleIsNamed compares the directories of the samples with the page's links.
func everySampleIsNamed(t *testing.T, text string, inTable map[string]bool) {
	t.Helper()
	others := map[string]bool{}
	for _, link := range sampleLinks.FindAllStringSubmatch(text, -1) {
		if link[1] != link[2] {
			t.Errorf("the link %s leads to %s", link[1], link[2])
		}
		if !inTable[link[2]] {
			others[link[2]] = true
		}
	}
	if want := []string{"bgp-router", "broken", "capture", "configured", "containerlab-acl", "frr", "gang", "gates", "images", "port-groups", "reservations", "schedule", "search", "sharing", "sim", "sriov", "sriov-claims", "trex", "trex-hosts", "tunnel", "two-nics"}; !slices.Equal(slices.Sorted(maps.Keys(others)), want) {
		t.Errorf("samples outside of the table: %v, want %v", slices.Sorted(maps.Keys(others)), want)
	}
	entries, err := os.ReadDir(samplesDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && !inTable[entry.Name()] && !others[entry.Name()] {
			t.Errorf("config/samples/%s is not in docs/catalogue.md", entry.Name())
		}
		delete(inTable, entry.Name())
		delete(others, entry.Name())
	}
	if len(inTable)+len(others) > 0 {
		t.Errorf("no such samples: %v %v", inTable, others)
	}
}

// catalogue reads the table of the page.
func catalogue(t *testing.T, text string) []catalogueRow {
	t.Helper()
	var rows []catalogueRow
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Row ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) == 6 { // nothing is needed
			cells = append(cells, "")
		}
		if len(cells) != 7 {
			t.Fatalf("%d cells in %s", len(cells), line)
		}
		rows = append(rows, catalogueRow{number: cells[0], samples: namesOf(sampleLinks, cells[2]), methods: namesOf(quoted, cells[3]), sim: cells[4], xdp: cells[5]})
	}
	return rows
}

func namesOf(pattern *regexp.Regexp, text string) []string {
	var names []string
	for _, match := range pattern.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// sampleBenchmarks are the texts of a sample's benchmarks.
func sampleBenchmarks(t *testing.T, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(samplesDir, name, "*benchmark.yaml"))
	if err != nil || len(files) == 0 {
		t.Errorf("sample %s has no benchmark: %v", name, err)
	}
	all := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}

// testFunctions are the names of all tests of the repository, each with the text of
// the file that it is in.
func testFunctions(t *testing.T) map[string]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(t \*testing\.T\)`)
	tests := map[string]string{}
	err := filepath.WalkDir(repository, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != repository:
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range namesOf(declared, string(text)) {
			tests[name] += string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// members are the methods of a test, as manifests write them.
func members() []string {
	var all []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[v1alpha1.Test]()) {
		if f.Type.Kind() == reflect.Pointer {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			all = append(all, name)
		}
	}
	return all
}
