// Package inpod holds the commands that NoDrop runs in its own pods: operator, runner, agent,
// recorder, the device's pods and the TRex server.
package inpod
