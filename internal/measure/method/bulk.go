package method

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/method/trials"
	"nodrop.dev/nodrop/internal/measure/plan"
	"nodrop.dev/nodrop/internal/traffic"
)

func describeBulk() trials.Definition {
	number := func(heading, name string, unit trials.Unit, value func(*v1alpha1.BulkSummary) int64) trials.Column {
		return trials.Column{Heading: heading, Name: name, Unit: unit, Value: inBulk.Number(value)}
	}
	goodput := number("goodput", "Mbit/s", trials.BitsPerSecond, func(s *v1alpha1.BulkSummary) int64 { return s.GoodputBitsPerSecond })
	goodput.Metric = "Goodput"
	took := number("time, ms", "total", trials.LongNanoseconds, func(s *v1alpha1.BulkSummary) int64 { return s.TookNs })
	took.Metric = "Took"
	return trials.Definition{
		Method: plan.Method{
			Name: v1alpha1.MethodBulk, Member: "bulk", Mixes: true, Frameless: true, Workload: true,
			Given: func(t v1alpha1.Test) bool { return t.Bulk != nil },
			Fits:  fitsBulk,
			Steps: func(test v1alpha1.Test, _ plan.Scale) []plan.Step {
				return []plan.Step{{Trials: 1, Duration: bulkTime(test.Bulk)}}
			},
		},
		Run:     bulk,
		Purpose: "time and goodput of a data set that moves over TCP, and the processor time of both ends",
		Headline: inBulk.Headline(func(s *v1alpha1.BulkSummary) trials.Figure {
			return trials.Figure{Number: s.GoodputBitsPerSecond, Text: trials.RateText(s.GoodputBitsPerSecond)}
		}),
		Columns: []trials.Column{
			goodput,
			took,
			number("received", "bytes", trials.Number, func(s *v1alpha1.BulkSummary) int64 { return s.ReceivedBytes }),
			number("connections", "lost", trials.Number, func(s *v1alpha1.BulkSummary) int64 { return s.LostConnections }),
			number("share of a connection, %", "least", trials.PPM, func(s *v1alpha1.BulkSummary) int64 { return s.SmallestSharePPM }),
			number("share of a connection, %", "most", trials.PPM, func(s *v1alpha1.BulkSummary) int64 { return s.LargestSharePPM }),
			number("TCP", "retransmissions", trials.Number, func(s *v1alpha1.BulkSummary) int64 { return s.Retransmissions }),
			number("TCP", "timeouts", trials.Number, func(s *v1alpha1.BulkSummary) int64 { return s.Timeouts }),
			{Heading: "processor, %", Name: "sender", Unit: trials.PPM, Value: inBulk.Optional(func(s *v1alpha1.BulkSummary) *int64 { return s.SenderCPUPPM })},
			{Heading: "processor, %", Name: "receiver", Unit: trials.PPM, Value: inBulk.Optional(func(s *v1alpha1.BulkSummary) *int64 { return s.ReceiverCPUPPM })},
		},
		Trials: func(test v1alpha1.Test) string {
			t := test.Bulk
			over := "one TCP connection"
			if t.Connections > 1 {
				over = fmt.Sprintf("%d TCP connections at once, each with a thread at both ends", t.Connections)
			}
			data := fmt.Sprintf("%s bytes", traffic.Grouped(bulkSize(t)))
			if t.Duration.Duration > 0 {
				data = fmt.Sprintf("data for %s", t.Duration.Duration)
			}
			return fmt.Sprintf("%s over %s; MTU %d; the time ends with the last byte at the receiver; processor times are of the threads of an end, in percent of one processor", data, over, t.MTU)
		},
	}
}

var inBulk = trials.Summary[v1alpha1.BulkSummary](func(row *v1alpha1.ResultRow) *v1alpha1.BulkSummary { return row.Bulk })

// bulkSize returns the number of bytes of the data set; 0 if data is sent for a duration.
func bulkSize(t *v1alpha1.BulkTest) int64 {
	if t.Size == 0 && t.Duration.Duration == 0 {
		return v1alpha1.DefaultBulkSize
	}
	return t.Size
}

// bulkTime estimates the time of a row, at 1 Gbit/s.
func bulkTime(t *v1alpha1.BulkTest) time.Duration {
	return t.Duration.Duration + time.Duration(bulkSize(t)*8)
}

// fitsBulk reports why a bed has no hosts as a test asks for them.
func fitsBulk(test v1alpha1.Test, in plan.Setting, path *field.Path) field.ErrorList {
	return pairFits(test, in, path, end{"sender", test.Bulk.Sender}, end{"receiver", test.Bulk.Receiver})
}
