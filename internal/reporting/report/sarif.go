package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	// outcomeRule is the rule of what no gate asks for: that the device forwards frames, and
	// that every test has a conclusive row.
	outcomeRule = "outcome"
)

// sarif has a rule per gate, and a result per row that did not pass: of kind fail and level error where
// it failed, and of kind open, which means too little information, where it is inconclusive.
// A benchmark that the lab did not bring to its end is an invocation without success.
func (d *Document) sarif() ([]byte, error) {
	name := d.Benchmark.Namespace + "/" + d.Benchmark.Name
	run := sarifRun{
		Tool:              sarifTool{sarifDriver{Name: "NoDrop", Rules: []sarifRule{}}},
		AutomationDetails: sarifAutomation{ID: d.Benchmark.Namespace + "/" + d.history() + "/" + d.Benchmark.Name, GUID: d.Benchmark.UID},
		Invocations:       []sarifInvocation{d.sarifInvocation()},
		ColumnKind:        "unicodeCodePoints",
		Results:           []sarifResult{},
		Properties:        map[string]any{"benchmark": name, "phase": string(d.Phase), "testBed": d.TestBed},
	}
	if d.Environment != nil {
		run.Tool.Driver.Version = d.Environment.NoDropVersion
		if d.Environment.Device != "" {
			run.Properties["device"] = d.Environment.Device
		}
	}
	if d.simulated() {
		run.Properties["note"] = simulatedBanner
	}
	shown := map[v1alpha1.BenchmarkPhase]bool{} // by a gate
	gates := d.judged()
	series := sarifSeries{namespace: d.Benchmark.Namespace, history: d.history(), manifest: d.Manifest}
	for i, g := range gates.list() {
		rule := "gate/" + g.Name
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: rule, Name: g.Name,
			ShortDescription: sarifText{strings.TrimSpace(fmt.Sprintf("%s of test %s: %s", g.Metric, g.Test, gates.bound(i)))}})
		add := func(verdict v1alpha1.GateVerdict, row, reason, message string) *sarifResult {
			shown[map[v1alpha1.GateVerdict]v1alpha1.BenchmarkPhase{v1alpha1.GateFailed: v1alpha1.PhaseFailed, v1alpha1.GateInconclusive: v1alpha1.PhaseInconclusive}[verdict]] = true
			r := series.result(rule, i, verdict == v1alpha1.GateFailed, row, message)
			r.Properties = map[string]any{"verdict": string(verdict), "reason": reason}
			run.Results = append(run.Results, r)
			return &run.Results[len(run.Results)-1]
		}
		if g.Message != "" && g.Verdict != v1alpha1.GatePassed {
			add(g.Verdict, "", string(g.Reason), fmt.Sprintf("Gate %s %s: %s", g.Name, g.Verdict, g.Message))
		}
		for _, row := range g.Rows {
			if row.Verdict == v1alpha1.GatePassed {
				continue
			}
			r := add(row.Verdict, row.Name(), string(row.Reason), fmt.Sprintf("Gate %s %s: %s: %s: %s", g.Name, row.Verdict, row.Name(), g.Metric, row.Message))
			for key, n := range map[string]*int64{"value": row.Value, "min": row.Min, "max": row.Max, "baseline": row.Baseline} {
				if n != nil {
					r.Properties[key] = *n
				}
			}
			if g.Unit != "" {
				r.Properties["unit"] = g.Unit
			}
		}
	}
	if failed := d.Phase == v1alpha1.PhaseFailed; (failed || d.Phase == v1alpha1.PhaseInconclusive) && !shown[d.Phase] {
		rules := &run.Tool.Driver.Rules
		*rules = append(*rules, sarifRule{ID: outcomeRule, ShortDescription: sarifText{"The device forwards frames, and every test has a conclusive row."}})
		run.Results = append(run.Results, series.result(outcomeRule, len(*rules)-1, failed, "", fmt.Sprintf("Benchmark %s %s%s", name, d.Phase, after(": ", d.Message))))
	}
	return indented(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

// sarifInvocation describes the end of the benchmark. It is not successful if the benchmark
// was ended before it was measured.
func (d *Document) sarifInvocation() sarifInvocation {
	in := sarifInvocation{ExecutionSuccessful: d.Phase.Measured() || d.Phase == v1alpha1.PhaseFailed}
	if d.StartTime != nil {
		in.StartTimeUTC = d.StartTime.UTC().Format(time.RFC3339)
	}
	if d.CompletionTime != nil {
		in.EndTimeUTC = d.CompletionTime.UTC().Format(time.RFC3339)
	}
	if !in.ExecutionSuccessful {
		in.Notifications = []sarifNotification{{Level: "error", Message: sarifText{d.whyMissing()}}}
	}
	return in
}

// sarifSeries is the series of runs of a history, and the manifest of this run.
type sarifSeries struct {
	namespace, history, manifest string
}

// result is a finding on a row, or on all rows of a rule without the name of one. Its
// fingerprint is the same in every run of a history.
func (s sarifSeries) result(rule string, index int, failed bool, row, message string) sarifResult {
	path := s.namespace + "/" + s.history + "/" + rule + after("/", row)
	digest := sha256.Sum256([]byte(path))
	location := sarifLocation{Logical: []sarifLogical{{Name: human.Join(": ", s.history, row), FullyQualifiedName: path, Kind: "object"}}}
	if s.manifest != "" && !filepath.IsAbs(s.manifest) {
		uri := url.URL{Path: filepath.ToSlash(filepath.Clean(s.manifest))}
		location.Physical = &sarifPhysical{Artifact: sarifArtifact{URI: uri.EscapedPath(), URIBaseID: "%SRCROOT%"}, Region: &sarifRegion{StartLine: 1}}
	}
	r := sarifResult{
		RuleID: rule, RuleIndex: index, Kind: "open", Level: "none", Message: sarifText{message},
		Locations: []sarifLocation{location}, PartialFingerprints: map[string]string{"gateRow/v1": hex.EncodeToString(digest[:])},
	}
	if failed {
		r.Kind, r.Level = "fail", "error"
	}
	return r
}

// The properties of SARIF 2.1.0 (OASIS) that are written. Sections of the specification are
// named at each.
type (
	// sarifLog is the whole file (section 3.13).
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	// sarifRun is one benchmark (3.14).
	sarifRun struct {
		Tool              sarifTool         `json:"tool"`
		AutomationDetails sarifAutomation   `json:"automationDetails"`
		Invocations       []sarifInvocation `json:"invocations"`
		ColumnKind        string            `json:"columnKind"`
		Results           []sarifResult     `json:"results"`
		Properties        map[string]any    `json:"properties,omitempty"`
	}
	// sarifTool is NoDrop (3.18), with a rule for each gate (3.49).
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		Name             string    `json:"name,omitempty"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	// sarifAutomation identifies the series of runs that this run belongs to (3.17).
	sarifAutomation struct {
		ID   string `json:"id"`
		GUID string `json:"guid,omitempty"`
	}
	// sarifInvocation describes the end of the benchmark (3.20).
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		StartTimeUTC        string              `json:"startTimeUtc,omitempty"`
		EndTimeUTC          string              `json:"endTimeUtc,omitempty"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	// sarifNotification is a condition of the lab, not of the device (3.58).
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	// sarifResult is a row that did not pass a gate (3.27).
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Kind                string            `json:"kind"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
		Properties          map[string]any    `json:"properties,omitempty"`
	}
	// sarifLocation is the row (3.28), and the manifest of the benchmark where it is known.
	sarifLocation struct {
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)
