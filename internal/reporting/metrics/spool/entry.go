package spool

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// An entry of the file is a number of lines, and the lines compressed.
const (
	// maxEntry is the maximum size of the lines of an entry in bytes. A single longer line is
	// an entry of its own.
	maxEntry = 256 << 10
	// maxDecoded is the maximum size of the lines of an entry that is read: a damaged one may pretend
	// to be of any size.
	maxDecoded = 64 << 20
	// perEntry is about what the file needs for an entry besides its content.
	perEntry = 32
)

// Encoder and decoder may be used concurrently, and fail to be made for bad options only.
var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecoded))
)

// chunks packs lines into entries.
func chunks(lines [][]byte) [][]byte {
	var entries [][]byte
	for len(lines) > 0 {
		n, length := 0, 0
		for n < len(lines) && (n == 0 || length+len(lines[n]) <= maxEntry) {
			length += len(lines[n])
			n++
		}
		entry := binary.AppendUvarint(nil, uint64(n))
		entries = append(entries, encoder.EncodeAll(bytes.Join(lines[:n], nil), entry))
		lines = lines[n:]
	}
	return entries
}

// unpack returns the lines of an entry, at least one.
func unpack(entry []byte) ([][]byte, error) {
	_, n := binary.Uvarint(entry)
	if n <= 0 {
		return nil, fmt.Errorf("an entry has no number of lines")
	}
	text, err := decoder.DecodeAll(entry[n:], nil)
	if err != nil {
		return nil, fmt.Errorf("an entry is damaged: %w", err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	if len(lines) < 2 || len(lines[len(lines)-1]) > 0 {
		return nil, fmt.Errorf("an entry is damaged: it has no whole line")
	}
	return lines[:len(lines)-1], nil
}

// points returns the number of lines in an entry; 1 if it is damaged so that its number cannot be right.
func points(entry []byte) int64 {
	n, read := binary.Uvarint(entry)
	if read <= 0 || n == 0 || n > maxEntry {
		return 1
	}
	return int64(n)
}

func size(entry []byte) int64 { return int64(len(entry)) + perEntry }

func sizes(entries [][]byte) (sum int64) {
	for _, e := range entries {
		sum += size(e)
	}
	return sum
}
