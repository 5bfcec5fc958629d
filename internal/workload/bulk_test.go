package workload

import (
	"strings"
	"testing"
	"time"
)

func TestBulkRequestsThatNoEngineCanRun(t *testing.T) {
	for want, r := range map[string]BulkRequest{
		"":                         {Sender: "a", Receiver: "b", Bytes: 1, Connections: 128},
		"give 1 to 128":            {Sender: "a", Receiver: "b", Bytes: 1, Connections: 129},
		"give one of them above 0": {Sender: "a", Receiver: "b", Bytes: 1, Duration: 1, Connections: 1},
		"a duration of 0s":         {Sender: "a", Receiver: "b", Connections: 1},
		"are on port a":            {Sender: "a", Receiver: "a", Duration: 1, Connections: 1},
	} {
		if err := r.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

func TestProcessorsOfABulk(t *testing.T) {
	b := Bulk{Took: 10 * time.Second, Connections: []BulkConnection{
		{Sent: 7, Received: 5, SenderCPU: 8 * time.Second, ReceiverCPU: time.Second}, {Sent: 3, Received: 3, SenderCPU: 9 * time.Second, ReceiverCPU: 2 * time.Second},
	}}
	if sender, receiver := b.CPUPPM(); sender != 1_700_000 || receiver != 300_000 || b.BusiestPPM() != 900_000 || b.Sent() != 10 || b.Received() != 8 {
		t.Errorf("%d and %d ppm, busiest %d, %d of %d bytes", sender, receiver, b.BusiestPPM(), b.Received(), b.Sent())
	}
	if text := b.Doubt(); text != "" {
		t.Error(text)
	}
	b.Limits.BusyPPM = 960_000
	if text := b.Doubt(); !strings.Contains(text, "the machine of the hosts were busy for 96 %") {
		t.Error(text)
	}
	b.Connections[0].ReceiverCPU = 9600 * time.Millisecond
	if text := b.Doubt(); !strings.Contains(text, "used a processor for 96 %") {
		t.Error(text)
	}
	if text := (Bulk{}).Doubt(); text != "" {
		t.Error(text)
	}
}
