import "influxdata/influxdb/schema"
schema.tagValues(bucket: v.defaultBucket, tag: "device", predicate: (r) => r._measurement == "nodrop_run", start: 0, stop: 2100-01-01T00:00:00Z)
