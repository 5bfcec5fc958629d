package metrics

// trialSchema is a trial that ended.
func trialSchema() Measurement {
	return Measurement{
		Name: MeasurementTrial, About: "a trial that ended", Time: "when the trial began",
		Tags: []Column{bedColumn, sizeColumn, methodColumn},
		Fields: append(ofRun[:3:3],
			Column{tagTest, unitText, "name of the test"},
			Column{"load_ppm", unitPPM, "intended load of line rate"},
			Column{"duration_ns", unitNs, "length that was asked for"},
			Column{"tx_time_ns", unitNs, "how long sending took"},
			Column{"intended", unitFrames, "frames that the load asked for"},
			Column{"sent", unitFrames, "frames that left the tester"},
			Column{"received", unitFrames, "frames that came back, once per receiver"},
			Column{"lost", unitFrames, "frames sent and not received, once per receiver"},
			Column{"passed", unitBool, "the whole intended load was offered and no frame was lost"},
			Column{"generator_bound", unitBool, "the tester may be what kept the trial from passing"},
			Column{"passed_ppm", unitPPM, "highest load that the search knew to pass when the trial began; 0 when none"},
			Column{"failed_ppm", unitPPM, "lowest load that the search knew to fail when the trial began; 0 when none"},
		),
	}
}

// portSchema is a port in an interval of a trial.
func portSchema() Measurement {
	return Measurement{
		Name: MeasurementPort, About: "what a port did with the streams of a class in an interval of a trial", Time: "the end of the interval",
		Tags: []Column{bedColumn, {tagPort, unitText, "name of the port in the bed"}, {tagClass, unitText, "class of the streams: unicast, multicast or the name of a flow"}},
		Fields: append(ofRun[:3:3],
			Column{tagTest, unitText, "name of the test"},
			Column{tagFrameSize, unitText, sizeColumn.About},
			Column{"load_ppm", unitPPM, "intended load of the trial"},
			Column{"interval_ns", unitNs, "length of the interval"},
			Column{"intended", unitFrames, "frames that the load asked the port for in it; absent when it sends none of the class"},
			Column{"sent", unitFrames, "frames that the port sent in it; absent when it sends none of the class"},
			Column{"sent_bytes", unitBytes, "the same in bytes, with FCS"},
			Column{"received", unitFrames, "frames that the port received in it; absent when it should receive none of the class"},
			Column{"received_bytes", unitBytes, "the same in bytes, with FCS"},
			Column{"lost", unitFrames, "frames that were found missing in it; absent when the engine cannot say"},
			Column{"reordered", unitFrames, "frames that came out of order in it (RFC 4737); absent when the engine cannot say"},
			Column{"duplicate", unitFrames, "copies that came in it; absent when the engine cannot say"},
			Column{"latency_min_ns", unitNs, "lowest latency in it; absent when none was measured"},
			Column{"latency_avg_ns", unitNs, "mean latency in it"},
			Column{"latency_max_ns", unitNs, "highest latency in it"},
			Column{"latency_p50_ns", unitNs, "50th percentile"},
			Column{"latency_p99_ns", unitNs, "99th percentile"},
			Column{"latency_p999_ns", unitNs, "99.9th percentile"},
			Column{"jitter_avg_ns", unitNs, "mean difference of the latency of consecutive frames (RFC 4689); absent when none was measured"},
		),
	}
}

// deviceSchema is a device of software in an interval of a trial.
func deviceSchema() Measurement {
	return Measurement{
		Name: MeasurementDevice, About: "what a device of software did in an interval of a trial: its interface at a port, or, without a port, the device as a whole", Time: "the end of the interval",
		Tags: []Column{bedColumn, {tagPort, unitText, "name of the port in the bed that the interface is cabled to; absent in a point of the whole device"}},
		Fields: append(ofRun[:3:3],
			Column{"interval_ns", unitNs, "length of the interval"},
			Column{"rx_frames", unitFrames, "frames that the interface received in it"},
			Column{"rx_dropped", unitFrames, "frames that it received and dropped, as its kernel counts them"},
			Column{"rx_errors", unitFrames, "frames that it received in error"},
			Column{"tx_frames", unitFrames, "frames that it sent in it"},
			Column{"tx_dropped", unitFrames, "frames that it could not send, as its kernel counts them"},
			Column{"tx_errors", unitFrames, "frames that it failed to send"},
			Column{"cpu_ppm", unitPPM, "share of the time of the device's processors that was not idle, in ticks of 10 ms; absent when it has none of its own"},
			Column{"softirq_ppm", unitPPM, "share of their time in soft interrupts, in which the kernel forwards frames"},
			Column{"memory_bytes", unitBytes, "memory of the device's routing software, as in routeMemory of a row; absent where it cannot be read"},
			Column{"routes", unitRoutes, "routes in the kernel's tables, IPv4 and IPv6, including the routes of its own addresses; absent where they cannot be counted"},
		),
	}
}
