import "influxdata/influxdb/schema"
schema.tagValues(bucket: v.defaultBucket, tag: "frame_size", predicate: (r) => r._measurement == "nodrop_row", start: 0, stop: 2100-01-01T00:00:00Z)
