package labobjects

import (
	"net"
	"strconv"
)

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// RunnerAddress returns the address at which the runner of a pod with that IP address listens.
func RunnerAddress(podIP string) string { return hostPort(podIP, RunnerPort) }
