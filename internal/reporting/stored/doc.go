// Package stored defines how a benchmark's result and inputs are kept in the API:
// rows and environment in objects of kind BenchmarkResult, inputs in objects of
// kind BenchmarkSnapshot, both owned by the benchmark and in its namespace.
//
// The operator writes them with the names, labels and digests of this package;
// the operator, the archive and kubectl nodrop read them with it. The digests can
// be computed without it:
//
//	kubectl get benchmarkresult PART -o json | jq -cSj .spec.rows | sha256sum
package stored
