package linux

import (
	"encoding/json"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// labelDirection contains the labelled frames of an interface in one direction that the kernel dropped.
type labelDirection struct {
	Errors  uint64 `json:"errors"`
	Dropped uint64 `json:"dropped"`
	NoRoute uint64 `json:"noroute"`
}

// labels reads what the kernel counts of labelled frames (MPLS), in addition to the counters of interfaces.
func (r *Reader) labels(out *telemetry.Reading, text string) {
	var all []struct {
		Name   string `json:"ifname"`
		Labels *struct {
			Input  labelDirection `json:"rx"`
			Output labelDirection `json:"tx"`
		} `json:"mpls_stats"`
	}
	if json.Unmarshal([]byte(text), &all) != nil {
		return // The device has an earlier ip.
	}
	for _, link := range all {
		if link.Labels == nil || !r.wants(link.Name) {
			continue
		}
		for what, n := range map[string]uint64{
			"input frames without a label route": link.Labels.Input.NoRoute,
			"input errors of labelled frames":    link.Labels.Input.Errors, "input discards of labelled frames": link.Labels.Input.Dropped,
			"output errors of labelled frames": link.Labels.Output.Errors, "output discards of labelled frames": link.Labels.Output.Dropped,
		} {
			out.Add(what+" of "+link.Name, telemetry.Counter{Value: n, Bits: 64})
		}
	}
}
