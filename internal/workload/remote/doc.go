// Package remote carries workload.Engine between the runner and the agent that has the ports. It is a service next to the
// engine of the agent. Requests and answers are the structs of package workload as JSON: runner and agent are of
// one version, so that a workload needs one line here.
package remote
