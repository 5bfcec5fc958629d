import "influxdata/influxdb/schema"
schema.tagValues(bucket: v.defaultBucket, tag: "test", predicate: (r) => r._measurement == "nodrop_row" and r.method == "Throughput", start: 0, stop: 2100-01-01T00:00:00Z)
