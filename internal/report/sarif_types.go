package report

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
