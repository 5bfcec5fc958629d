// Package webhookcert keeps the serving certificate of the admission webhooks: it
// makes the certificate, renews it before it expires, and puts the authority into the
// webhook configuration, without a restart and without cert-manager.
//
// Everything is in one Secret that all replicas of the operator share. A renewal has
// two steps, so that the API server trusts whatever a replica serves: the next
// certificate is stored and its authority is added to the webhook configuration, and
// only later the certificate is served. Each certificate has an authority of its own,
// whose key is discarded, so that no reader of the Secret can issue another one.
package webhookcert
