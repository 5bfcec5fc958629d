// Package container runs commands in a container by its runtime: Docker, or another one that serves Docker's API at a socket, such
// as Podman. There is no password and no host key: the rights on the socket decide.
package container
