// Package notify makes events about benchmarks, signs them and sends them: CloudEvents 1.0 in
// the structured JSON form over HTTPS, signed as Standard Webhooks says
// (https://www.standardwebhooks.com). Which hosts and addresses may be reached is the
// decision of the owner of the lab; nothing of an answer but its status is looked at.
package notify
