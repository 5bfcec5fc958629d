package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"nodrop.dev/nodrop/cmd/nodrop/terminal"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/archive/document"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/signed"
	"nodrop.dev/nodrop/internal/reporting/verify"
)

func newVerifyCommand() *cobra.Command {
	var key string
	var out terminal.Output
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Recompute the figures of a result from its trials, and check its signature",
		Long: `Recompute the figures, verdicts and gates of a result from the trials that it contains,
without the lab that measured it, and check the digest of its content. Each difference is
printed with the row, the field, the printed value and the recomputed one. Figures that
cannot be recomputed are checked for consistency with others, and named.

FILE is a result that -o json or -o yaml has written, compressed with zstd or not, or an
envelope that nodrop sign has written. With --key the signature of an envelope is checked
first. The exit code is 0 if everything agrees, and 2 if it does not.`,
		Example: `  nodrop verify result.json
  nodrop verify result.signed.json --key vendor.pub.pem`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&key, "key", "", "file with the public key of the signer, Ed25519 or ECDSA in PEM")
	out.AddFormat(cmd, terminal.ObjectFormats())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.Check(); err != nil {
			return err
		}
		text, err := resultIn(cmd.Context(), args[0], key)
		if err != nil {
			return err
		}
		d, err := report.Read(text)
		if err != nil {
			return hint.With(fmt.Errorf("%s: %w", args[0], err), "kubectl nodrop report and nodrop run write a result with -o json")
		}
		verdict := verify.Document(d)
		if err := verdict.Content(text); err != nil {
			return err
		}
		if err := out.Write(cmd.OutOrStdout(), verified{verdict}); err != nil {
			return err
		}
		if !verdict.Holds() {
			return &exit.Coded{Code: exit.Failed}
		}
		return nil
	}
	return cmd
}

// verified is a verdict in the formats of the command.
type verified struct{ *verify.Verdict }

// Write writes the verdict in a format.
func (v verified) Write(w io.Writer, format report.Format) error {
	if format == report.FormatTable {
		return v.Verdict.Write(w)
	}
	return terminal.WriteObject(w, v.Verdict, format)
}

// resultIn returns the result in a file, which an envelope may hold. With a key file the envelope
// must have a valid signature of it.
func resultIn(ctx context.Context, file, keyFile string) ([]byte, error) {
	text, err := document.Read(ctx, file, document.File)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	var key []byte
	if keyFile != "" {
		if key, err = os.ReadFile(keyFile); err != nil {
			return nil, fmt.Errorf("--key: %w", err)
		}
	}
	if !signed.IsEnvelope(text) {
		if key != nil {
			return nil, hint.With(&exit.Coded{Err: errors.New(file + " is not signed, or its envelope is damaged"), Code: exit.Failed}, "nodrop sign FILE --key KEY makes a signed result; without --key only the figures are verified")
		}
		return text, nil
	}
	out, err := signed.Open(ctx, text, key)
	if err != nil {
		return nil, hint.With(&exit.Coded{Err: fmt.Errorf("%s: %w", file, err), Code: exit.Failed}, hint.Of(err))
	}
	return out, nil
}

func newSignCommand() *cobra.Command {
	var key, out string
	cmd := &cobra.Command{
		Use:   "sign FILE --key KEY",
		Short: "Sign a result, so that others can check that it was not changed",
		Long: `Sign a result with a private key: Ed25519 or ECDSA in PEM. The signed result is an envelope
(DSSE) with an in-toto statement about the result, which contains the result itself and
the digests of its inputs. nodrop verify --key checks it with the public key.`,
		Example: `  openssl genpkey -algorithm ed25519 -out key.pem
  openssl pkey -in key.pem -pubout -out pub.pem
  nodrop sign result.json --key key.pem --output-file result.signed.json`,
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&key, "key", "", "file with the private key, Ed25519 or ECDSA in PEM")
	cmd.Flags().StringVar(&out, "output-file", "", "write the envelope to this file instead of stdout")
	_ = cmd.MarkFlagRequired("key")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := document.Read(cmd.Context(), args[0], document.File)
		if err != nil {
			return fmt.Errorf("reading %s: %w", args[0], err)
		}
		pem, err := os.ReadFile(key)
		if err != nil {
			return fmt.Errorf("--key: %w", err)
		}
		envelope, err := signed.Sign(cmd.Context(), bytes.TrimSpace(text), pem)
		if err != nil {
			return hint.With(fmt.Errorf("%s: %w", args[0], err), hint.Of(err))
		}
		if out == "" {
			_, err = cmd.OutOrStdout().Write(envelope)
			return err
		}
		if err := os.WriteFile(out, envelope, 0o644); err != nil {
			return fmt.Errorf("--output-file: %w", err)
		}
		return nil
	}
	return cmd
}
