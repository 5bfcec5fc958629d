from(bucket: v.defaultBucket)
  |> range(start: v.timeRangeStart, stop: v.timeRangeStop)
  |> filter(fn: (r) => r._measurement == "nodrop_trial" and r.bed == "$bed")
  |> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")
  |> group()
  |> map(fn: (r) => ({
    _time: r._time,
    timeEnd: time(v: int(v: r._time) + r.tx_time_ns),
    title: r.test,
    text: "load " + string(v: r.load_ppm) + " ppm, " + string(v: r.lost) + " lost" + (if r.passed then ", passed" else ""),
    tags: r.method + (if exists r.frame_size then "," + r.frame_size else ""),
  }))
