// Package figures keeps what trends, gates and histories need of a result in a small file next to
// its document, so that a history over many large results is read without reading them. Where an
// archive has no such file, the same figures are read from the document, row by row.
package figures
