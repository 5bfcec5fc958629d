package trex

import "context"

// Ping asks the server at an endpoint, such as tcp://127.0.0.1:4501, for its
// version, over a connection of its own, which does not disturb other sessions.
func Ping(ctx context.Context, endpoint string) (string, error) {
	c := client{endpoint: endpoint}
	defer c.close()
	var v version
	if err := c.call(ctx, "get_version", nil, &v); err != nil {
		return "", err
	}
	return v.Version, nil
}
