// Package config holds what installs the operator by kustomize: definitions,
// roles, webhooks and the deployment, and samples of the API. Its tests keep
// that, and the chart, in step with the source.
package config
