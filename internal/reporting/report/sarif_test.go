package report

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// TestSARIFMeetsTheSpecification checks the shape by a schema that was written from the specification, and
// what a schema cannot say: a rule for each result, once, and no level but none on what did not fail.
func TestSARIFMeetsTheSpecification(t *testing.T) {
	text, err := os.ReadFile("testdata/schema/sarif-subset.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema object
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	validator := validatorOf(t, schema)
	for name, d := range allDocuments() {
		t.Run(name, func(t *testing.T) {
			d.Benchmark.UID = "9b2c6a52-5d0f-4a3c-9d39-0c1b5f3c9a11"
			written := sarifOf(t, d)
			var asObject map[string]any
			if err := json.Unmarshal(written, &asObject); err != nil {
				t.Fatal(err)
			}
			if result := validator.Validate(asObject); !result.IsValid() {
				t.Fatalf("%v", result.AsError())
			}
			run := readSARIF(t, written).Runs[0]
			seen := map[string]bool{}
			for _, r := range run.Results {
				if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
					t.Errorf("ruleIndex %d is not rule %s", r.RuleIndex, r.RuleID)
				}
				if (r.Kind == "fail") != (r.Level == "error") || r.Kind != "fail" && r.Level != "none" {
					t.Errorf("kind %s with level %s", r.Kind, r.Level)
				}
				if print := r.PartialFingerprints["gateRow/v1"]; seen[print] {
					t.Errorf("two results have one fingerprint: %s", r.Message.Text)
				} else {
					seen[print] = true
				}
			}
			if passed := d.Phase == v1alpha1.PhasePassed; passed && (len(run.Results) > 0 || !run.Invocations[0].ExecutionSuccessful) {
				t.Errorf("passed, and has results: %+v", run.Results)
			}
			if d.Phase == v1alpha1.PhaseFailed && !bytes.Contains(written, []byte(`"kind": "fail"`)) {
				t.Error("failed, and no result says so")
			}
		})
	}
}

// TestSARIFSchemaRefuses shows that the schema of the test refuses what SARIF does.
func TestSARIFSchemaRefuses(t *testing.T) {
	text, err := os.ReadFile("testdata/schema/sarif-subset.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema object
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	validator := validatorOf(t, schema)
	for _, change := range []string{`"kind": "fail"|"kind": "failed"`, `"version": "2.1.0"|"version": "2.0.0"`, `"ruleId"|"rule"`, `"executionSuccessful": true,|`} {
		before, after, _ := strings.Cut(change, "|")
		text := strings.Replace(string(sarifOf(t, gated())), before, after, 1)
		var broken map[string]any
		if err := json.Unmarshal([]byte(text), &broken); err != nil {
			t.Fatal(err)
		}
		if validator.Validate(broken).IsValid() {
			t.Errorf("accepted %s", change)
		}
	}
}

func TestSARIFNamesTheManifest(t *testing.T) {
	d := gated()
	d.Manifest = "bench/router one.yaml"
	location := readSARIF(t, sarifOf(t, d)).Runs[0].Results[0].Locations[0]
	if location.Physical == nil || location.Physical.Artifact.URI != "bench/router%20one.yaml" {
		t.Errorf("location: %+v", location)
	}
	d.Manifest = "/tmp/benchmark.yaml"
	if at := readSARIF(t, sarifOf(t, d)).Runs[0].Results[0].Locations[0].Physical; at != nil {
		t.Errorf("a path of this machine is in the report: %+v", at)
	}
}

func sarifOf(t *testing.T, d *Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := d.Write(&b, FormatSARIF); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readSARIF(t *testing.T, text []byte) sarifLog {
	t.Helper()
	var read sarifLog
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}
