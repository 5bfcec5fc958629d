// Package remote carries readings of a device from the pod that reaches it to the runner, and resets to that pod, over HTTPS with mutual TLS:
//
//	GET /v1/reading   reads the device now
//	GET /v1/facts     asks the device what it is
//	GET /v1/power     reads the meter of its power now, in mW
//	POST /v1/power-cycle?off=15s   turns the power of the device off, and on again after a while
//	POST /v1/reset?name=reload     performs a reset that the bed describes
//	POST /v1/restore   gives the device the configuration of the run again, after a reset
//	POST /v1/scale?name=acl&entries=201   gives the device the configuration of the run with a list of so many entries, which the bed
//	describes; 0 for no list
//
// Only that pod has the credentials of the device, and only it reaches the management network.
package remote
