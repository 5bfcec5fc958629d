// Package kueuetest runs the real Kueue next to an API server of package kubetest: its
// definitions and webhooks, and its manager as a process. hack/kueue/build builds it.
package kueuetest
