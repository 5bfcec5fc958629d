// Package recorder carries points from runners to the recorder of a lab, over gRPC with
// mutual TLS. The recorder keeps them in a spool on its volume, and writes them to the
// database: it is the one part of the lab that has the database's token. A runner is known
// by its certificate, and adds points of its own run only.
package recorder
