package dashboards

import (
	"time"

	sdk "github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// All are the dashboards.
func All() []Dashboard { return []Dashboard{live(), results(), trends(), lab()} }

// quiet is the color of frequent annotations.
const quiet = "rgba(150, 150, 150, 0.5)"

func live() Dashboard {
	return Dashboard{
		Name: "live", Title: "NoDrop: live run", from: "now-15m", refresh: "5s",
		About:     "What a bed does now: frames, loss and latency of its ports against time, and the trials.",
		Variables: []Variable{one("bed", "Bed")},
		Marks:     []Mark{{Title: "Trials", Query: "mark-trials", color: quiet, title: "test", text: "method", tags: "frame_size"}},
		Panels: []Panel{
			{Title: "Newest run", Queries: []string{"run"}, kind: grid, width: 24, height: 3, columns: aRun(), About: "The run that began last on this bed."},
			{Title: "Offered and received", Queries: []string{"offered", "received"}, unit: unitRate, width: 12, height: 9, columns: []column{{name: "offered", color: "blue"}, {name: "received", color: "green"}}, About: "Frames per second over all ports. Multicast frames are received once per receiver."},
			{Title: "Lost", empty: "The engine knows losses only at the end of a trial, or no trial runs.", Queries: []string{"lost"}, unit: unitRate, width: 12, height: 9, columns: []column{{name: "lost", color: "red"}}, About: "Frames per second that were found missing, over all ports. Empty where the engine cannot say before the end of a trial."},
			{Title: "Latency", Queries: []string{"latency"}, unit: unitNs, width: 12, height: 9, columns: []column{{name: "p50", color: "green"}, {name: "p99", color: "orange"}, {name: "p99.9", color: "red"}}, About: "Percentiles of the port that is worst. Percentiles of several ports cannot be averaged."},
			{Title: "Median latency of the ports", Queries: []string{"heat"}, kind: heat, legend: []string{"port", "class"}, unit: unitNs, width: 12, height: 9, About: "How many ports and classes of streams had which median latency."},
			{Title: "Loads of the trials", Queries: []string{"loads", "passed", "failed"}, kind: dots, unit: unitPercent, width: 24, height: 8, columns: []column{{name: "load", color: "blue", unconnected: true}, {name: "passed", label: "highest that passed", color: "green"}, {name: "failed", label: "lowest that failed", color: "red"}}, About: "Load of each trial in percent of line rate, with the highest load that the search knew to pass and the lowest that it knew to fail when the trial began."},
			{Title: "Trials", Queries: []string{"trials"}, kind: grid, width: 24, height: 9, About: "Trials that ended, the newest first.", columns: []column{
				when, {name: "test", label: "Test"}, {name: "method", label: "Method"}, {name: "frame_size", label: "Frame size"}, {name: "load", label: "Load", unit: unitPercent}, {name: "duration_ns", label: "Duration", unit: unitNs},
				{name: "sent", label: "Sent", unit: unitNumber}, {name: "received", label: "Received", unit: unitNumber}, {name: "lost", label: "Lost", unit: unitNumber, levels: lossLevels}, {name: "passed", label: "Passed", words: yes(good, bad)}, {name: "generator_bound", label: "Generator-bound", words: yes(doubtful, "text")},
			}},
			{Title: "Received by the device", empty: "The device reports no counters: it is not one of software.", Queries: []string{"device-received"}, unit: unitRate, legend: []string{"port"}, width: 12, height: 8, About: "Frames per second that the interfaces of a device of software received, by the port that they are cabled to."},
			{Title: "Dropped by the device", empty: "The device reports no counters: it is not one of software.", Queries: []string{"device-dropped"}, unit: unitRate, legend: []string{"port"}, width: 12, height: 8, About: "Frames per second that these interfaces received and dropped, as the device's kernel counts them."},
			{Title: "Processors of the device", empty: "The device has no processors of its own, or is not one of software.", Queries: []string{"device-cpu"}, unit: unitPercent, width: 8, height: 8, columns: []column{{name: "busy", color: "blue"}, {name: "soft interrupts", color: "orange"}}, About: "Share of the time of the processors that a device of software has of its own which was not idle, and its part in soft interrupts."},
			{Title: "Memory of the device's router", empty: "Known only of a router that nodrop run started.", Queries: []string{"device-memory"}, unit: unitSize, width: 8, height: 8, columns: []column{{name: "memory", color: "blue"}}, About: "Memory of routing software that nodrop run started. Empty in a cluster."},
			{Title: "Routes of the device", empty: "Known only of a router that nodrop run started.", Queries: []string{"device-routes"}, unit: unitNumber, width: 8, height: 8, columns: []column{{name: "routes", color: "blue"}}, About: "Routes in the kernel of a router that nodrop run started. Empty in a cluster."},
		},
	}
}

// aRun are the columns of a table of runs.
func aRun() []column {
	return []column{when, {name: "benchmark", label: "Benchmark", links: onPage("Team", "Benchmark")}, {name: "team", label: "Team"}, {name: "bed", label: "Bed"}, {name: "device", label: "Device"}, {name: "software", label: "Software"}, {name: "engine", label: "Engine"}, {name: "run", label: "Run", links: resultsOf("Run")}}
}

// validity keeps rows that say something about the device apart from others: one is chosen.
func validity() Variable {
	return Variable{Name: "validity", Label: "Validity", Default: "Valid", sort: sdk.VariableSortAlphabeticalAsc}
}

func results() Dashboard {
	run := Variable{Name: "run", Label: "Run", again: true}
	figures := []column{
		{name: "test", label: "Test"}, {name: "method", label: "Method"}, {name: "frame_size", label: "Frame size"}, {name: "load", label: "Load"}, {name: "offered", label: "Offered, frames/s", unit: unitNumber, width: 115}, {name: "line_rate", label: "Of line rate", unit: unitPercent},
		{name: "loss", label: "Loss", unit: unitPercent, levels: lossLevels}, {name: "mean", label: "Mean latency", unit: unitNs}, {name: "p99", label: "99th percentile", unit: unitNs}, {name: "trials", label: "Trials"}, {name: "message", label: "Message"},
	}
	latency := []column{{name: "load", unit: unitPercent}, {name: "min", color: "blue"}, {name: "mean", color: "green"}, {name: "p99", color: "orange"}, {name: "max", color: "red"}}
	return Dashboard{
		Name: "results", Title: "NoDrop: results", from: "now-30d",
		About:     "The rows of one run. One validity is shown at a time: only Valid rows say something about the device.",
		Variables: []Variable{several("team", "Team"), several("bed", "Bed"), several("device", "Device"), run, validity(), one("frame_size", "Frame size")},
		Panels: []Panel{
			{Title: "Throughput by frame size", empty: "The run has no row of a throughput test of this validity.", Queries: []string{"throughput"}, kind: bars, x: "frame_size", unit: unitRate, width: 12, height: 9, About: "Highest load without loss, over all sending ports."},
			{Title: "Throughput in percent of line rate", empty: "The run has no row of a throughput test of this validity.", Queries: []string{"line-rate"}, kind: bars, x: "frame_size", unit: unitPercent, width: 12, height: 9, About: "The same in percent of line rate."},
			{Title: "Latency by load, frame size $frame_size", empty: "The run has no row of a latency test at this frame size and validity.", Queries: []string{"latency"}, kind: curve, x: "load", unit: unitNs, width: 12, height: 9, columns: latency, About: "Rows of latency tests at the frame size that is chosen, against the load in percent of line rate."},
			{Title: "Loss by load, frame size $frame_size", empty: "The run has no row of a frame loss test at this frame size and validity.", Queries: []string{"loss"}, kind: curve, x: "load", unit: unitPercent, width: 12, height: 9, columns: []column{{name: "load"}, {name: "loss", color: "red"}}, About: "Rows of frame loss tests at the frame size that is chosen, against the load in percent of line rate."},
			{Title: "Verdicts of gates", Queries: []string{"gates"}, kind: grid, empty: "The run has no gates.", width: 24, height: 7, About: "Each row that a gate of the run judges, with the limits of the gate.", columns: []column{
				{name: "gate", label: "Gate"}, {name: "test", label: "Test"}, {name: "metric", label: "Figure"}, {name: "frame_size", label: "Frame size"}, {name: "load", label: "Load"},
				{name: "value_text", label: "Value"}, {name: "limits_text", label: "Limits", width: 260}, {name: "verdict", label: "Verdict", words: verdicts}, {name: "reason", label: "Reason"},
			}},
			{Title: "Rows by validity", Queries: []string{"validity"}, kind: bars, x: "validity", words: validities, unit: unitNumber, width: 6, height: 9, About: "How many rows the run has of each validity."},
			{Title: "Rows", Queries: []string{"rows"}, kind: grid, columns: figures, width: 18, height: 9, About: "Rows of the validity that is chosen."},
			{Title: "Runs", Queries: []string{"runs"}, kind: grid, columns: aRun(), width: 24, height: 9, About: "Runs in the time that is shown, the newest first."},
		},
	}
}

func trends() Dashboard {
	series := []string{"bed", "device", "frame_size"}
	return Dashboard{
		Name: "trend", Title: "NoDrop: trend", from: "now-6M",
		About:     "Rows of throughput tests over months, of one validity, with new software and regressions.",
		Variables: []Variable{several("team", "Team"), several("bed", "Bed"), several("device", "Device"), one("test", "Test"), several("frame_size", "Frame size"), validity()},
		Marks: []Mark{
			{Title: "New software", Query: "mark-software", color: "blue", title: "software", text: "benchmark", tags: "bed"},
			{Title: "Regressions", Query: "mark-regressions", color: "red", title: "benchmark", text: "test", tags: "metric"},
		},
		Panels: []Panel{
			{Title: "Throughput", Queries: gated("throughput"), gates: gatesOn("throughput"), kind: dots, unit: unitRate, legend: series, width: 24, height: 11, About: "Highest load without loss, over all sending ports. Dashed lines are the limits of gates on Throughput; large points failed one."},
			{Title: "Throughput in percent of line rate", Queries: gated("line-rate"), gates: gatesOn("line-rate"), kind: dots, unit: unitPercent, legend: series, width: 24, height: 11, About: "The same in percent of line rate, with the limits of gates on LineRate."},
			{Title: "99th percentile of latency at the throughput", Queries: gated("latency"), gates: gatesOn("latency"), kind: dots, unit: unitNs, legend: series, width: 24, height: 11, About: "Of the last trial of the search, with the limits of gates on LatencyP99."},
			{Title: "Newest against the median", Queries: []string{"shift"}, kind: grid, width: 24, height: 5, About: "Throughput of the newest run, and the median of all runs in the time that is shown. One run says little: regressions are found by nodrop history.", columns: []column{
				{name: "bed", label: "Bed"}, {name: "device", label: "Device"}, {name: "frame_size", label: "Frame size"}, {name: "newest", label: "Newest", unit: unitRate}, {name: "median", label: "Median", unit: unitRate}, {name: "shift", label: "Change", unit: unitPercent, levels: changeLevels},
			}},
			{Title: "Regressions", empty: "No figure became worse in this time.", Queries: []string{"regressions"}, kind: grid, width: 24, height: 9, About: "Figures whose level became worse and did not change since, as the operator finds them in the archive.", columns: []column{
				when, {name: "benchmark", label: "Benchmark"}, {name: "test", label: "Test"}, {name: "frame_size", label: "Frame size"}, {name: "load", label: "Load"}, {name: "metric", label: "Figure"}, {name: "shift", label: "Change", unit: unitPercent}, {name: "bed", label: "Bed"}, {name: "device", label: "Device"}, {name: "software", label: "Software"}, {name: "run", label: "Run", links: resultsOf("Run")},
			}},
			{Title: "Software", Queries: []string{"versions"}, kind: grid, summary: []string{"device", "software", "frame_size"}, of: []string{"throughput", "p99"}, width: 24, height: 7, About: "Throughput and 99th percentile of latency for each version of the device's software.", columns: []column{
				{name: "device", label: "Device"}, {name: "software", label: "Software"}, {name: "frame_size", label: "Frame size"},
				{name: "throughput (min)", label: "Throughput, min", unit: unitRate}, {name: "throughput (mean)", label: "Throughput, mean", unit: unitRate}, {name: "throughput (max)", label: "Throughput, max", unit: unitRate},
				{name: "p99 (min)", label: "p99, min", unit: unitNs}, {name: "p99 (mean)", label: "p99, mean", unit: unitNs}, {name: "p99 (max)", label: "p99, max", unit: unitNs},
			}},
		},
	}
}

func lab() Dashboard {
	return Dashboard{
		Name: "lab", Title: "NoDrop: use of the lab", from: "now-30d",
		About:     "Who measures how much, and which beds are idle.",
		Variables: []Variable{several("team", "Team"), several("bed", "Bed"), several("device", "Device")},
		Panels: []Panel{
			{Title: "Beds now", Queries: []string{"beds"}, kind: grid, width: 24, height: 6, columns: []column{
				{name: "bed", label: "Bed"}, when, {name: "team", label: "Team"}, {name: "holder", label: "Benchmark"}, {name: "waiting", label: "Waiting", unit: unitNumber},
				{name: "longest_wait_ns", label: "Longest wait", unit: unitNs}, {name: "calibration_age_ns", label: "Calibrated ago", unit: unitNs, levels: ageLevels},
				{name: "ready", label: "Ready", words: yes(good, bad)}, {name: "unschedulable", label: "Closed", words: yes(doubtful, "text")}, {name: "quarantined", label: "Quarantined", words: yes(bad, "text")},
			}, About: "The last point of each bed in the time that is shown: who has it, how many benchmarks wait for it, and how old its calibration is."},
			{Title: "Benchmarks that wait", most: 60, Queries: []string{"waiting"}, unit: unitNumber, gap: 24 * time.Hour, legend: []string{"bed"}, width: 12, height: 8, About: "Benchmarks that wait and could get the bed; one that could get several counts for each."},
			{Title: "Utilisation", most: 60, Queries: []string{"utilisation"}, unit: unitPercent, gap: 24 * time.Hour, legend: []string{"bed"}, width: 12, height: 8, About: "Share of the time in which a benchmark had the bed, with preparation and cleaning up."},
			{Title: "Runs per day", Queries: []string{"runs"}, kind: stacks, unit: unitNumber, legend: []string{"bed"}, width: 24, height: 8, About: "Runs that began, by bed."},
			{Title: "Runs per team and bed", Queries: []string{"teams"}, kind: grid, columns: []column{{name: "team", label: "Team"}, {name: "bed", label: "Bed"}, {name: "runs", label: "Runs", unit: unitNumber}}, width: 12, height: 8, About: "Runs that have a row in the time that is shown."},
			{Title: "Hours per team", Queries: []string{"hours"}, kind: bars, x: "team", unit: unitHours, width: 12, height: 8, About: "How long the rows took to measure. Preparation and cleaning up are not in it. Rows of the engine sim count in simulated time."},
			{Title: "Beds in use", Queries: []string{"busy"}, kind: bars, x: "bed", unit: unitShare, width: 12, height: 8, About: "Share of the time that is shown in which the bed measured rows."},
			{Title: "Beds by their last run", Queries: []string{"idle"}, kind: grid, columns: []column{{name: "bed", label: "Bed"}, when, {name: "team", label: "Team"}, {name: "benchmark", label: "Benchmark", links: onPage("Team", "Benchmark")}, {name: "device", label: "Device"}}, width: 12, height: 8, About: "The last run of each bed, at any time."},
			{Title: "Rows by team and validity", Queries: []string{"validity"}, kind: grid, columns: []column{{name: "team", label: "Team"}, {name: "validity", label: "Validity", words: validities}, {name: "rows", label: "Rows", unit: unitNumber}}, width: 24, height: 10, About: "Rows that are not Valid say nothing about a device: the time for them is lost."},
		},
	}
}
