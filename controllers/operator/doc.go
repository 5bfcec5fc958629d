// Package operator puts controllers and webhooks into one manager. The command
// "nodrop operator" runs it in a cluster; tests run it against an API server.
package operator
