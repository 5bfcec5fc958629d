package dut

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// dockerSocket is the address on which Docker listens, unless DOCKER_HOST names another.
const dockerSocket = "unix:///var/run/docker.sock"

// networkLabel marks the networks that containerlab made.
const networkLabel = "containerlab"

// removeManagement removes the topology's management network. containerlab does
// that itself when it destroys containers; but a deployment that died before the
// first container leaves the network, and containerlab does not look for it.
// A network that others use, or that containerlab did not make, stays.
func removeManagement(ctx context.Context, name string) error {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = dockerSocket
	}
	socket, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		return nil
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	body, status, err := ask(ctx, client, http.MethodGet, name)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		// Another container runtime than Docker.
		return nil
	case err != nil:
		return fmt.Errorf("looking at management network %s: %w", name, err)
	case status == http.StatusNotFound:
		return nil
	case status != http.StatusOK:
		return fmt.Errorf("looking at management network %s: Docker answers %d: %.200s", name, status, body)
	}
	var network struct{ Labels map[string]string }
	if err := json.Unmarshal(body, &network); err != nil {
		return fmt.Errorf("looking at management network %s: %w", name, err)
	}
	if _, made := network.Labels[networkLabel]; !made {
		return nil
	}
	body, status, err = ask(ctx, client, http.MethodDelete, name)
	switch {
	case err != nil:
		return fmt.Errorf("removing management network %s: %w", name, err)
	case status == http.StatusNoContent, status == http.StatusNotFound, status == http.StatusForbidden:
		// Forbidden: containers of another topology are on it.
		return nil
	default:
		return fmt.Errorf("removing management network %s: Docker answers %d: %.200s", name, status, body)
	}
}

func ask(ctx context.Context, client *http.Client, method, network string) ([]byte, int, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://docker/networks/"+url.PathEscape(network), nil)
	if err != nil {
		return nil, 0, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return body, response.StatusCode, err
}
