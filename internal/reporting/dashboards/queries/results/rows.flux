from(bucket: v.defaultBucket)
  |> range(start: v.timeRangeStart, stop: v.timeRangeStop)
  |> filter(fn: (r) => r._measurement == "nodrop_row" and r.bed =~ /^${bed:regex}$/ and r.validity == "$validity")
  |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")
  |> filter(fn: (r) => r.run == "$run")
  |> group()
  |> sort(columns: ["_time"])
  |> map(fn: (r) => ({r with
    line_rate: if exists r.frames_lineRatePPM then float(v: r.frames_lineRatePPM) / 10000.0 else 0.0,
    loss: if exists r.frames_lossPPM then float(v: r.frames_lossPPM) / 10000.0 else 0.0,
  }))
  |> rename(fn: (column) =>
    if column == "frames_offeredFramesPerSecond" then "offered"
    else if column == "latency_avgNs" then "mean"
    else if column == "latency_p99Ns" then "p99"
    else column)
  |> keep(columns: ["_time", "test", "method", "frame_size", "load", "offered", "line_rate", "loss", "mean", "p99", "trials", "message"])
