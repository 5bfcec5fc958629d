package trex

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"time"
)

// The cookies that begin HdrHistogram's compressed form and what it holds, in its
// second encoding.
const (
	hdrCompressed = 0x1c849314
	hdrPlain      = 0x1c849313
	hdrHead       = 40
	// hdrMax bounds the size of a decoded histogram.
	hdrMax = 1 << 20
)

var errHDR = errors.New("no HdrHistogram of microseconds")

// hdrBuckets decodes the histogram of a stream of a server that was started with --hdrh:
// every latency, including the first half second, in buckets of 1 us up to 2 ms and of
// a thousandth above.
func hdrBuckets(text string) ([]bucket, error) {
	counts, digits, err := hdrUnpack(text)
	if err != nil {
		return nil, err
	}
	// A block has as many buckets as make its resolution digits long; of each block
	// but the first, the lower half is in those before it.
	half := 1 << (bits.Len64(2*pow10(digits)-1) - 1)
	all := []bucket{}
	for at := 0; len(counts) > 0; {
		count, n := hdrNumber(counts)
		if n == 0 {
			return nil, errHDR
		}
		counts = counts[n:]
		if count < 0 { // the number of empty buckets
			at -= int(max(count, -hdrMax))
			continue
		}
		shift, within := max(0, at/half-1), at
		if at >= 2*half {
			within = at%half + half
		}
		if shift > 32 {
			return nil, errHDR
		}
		if count > 0 {
			us := uint64(time.Microsecond)
			low := uint64(within) << shift
			all = append(all, bucket{low * us, (low + 1<<shift) * us, uint64(count)})
		}
		at++
	}
	return all, nil
}

func pow10(n uint32) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// hdrUnpack returns the encoded counts, and how many digits are exact.
func hdrUnpack(text string) (counts []byte, digits uint32, err error) {
	wire, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(wire) < 8 || binary.BigEndian.Uint32(wire) != hdrCompressed {
		return nil, 0, errHDR
	}
	r, err := zlib.NewReader(bytes.NewReader(wire[8:]))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errHDR, err)
	}
	defer r.Close()
	plain, err := io.ReadAll(io.LimitReader(r, hdrMax))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errHDR, err)
	}
	if len(plain) < hdrHead || binary.BigEndian.Uint32(plain) != hdrPlain {
		return nil, 0, errHDR
	}
	size, offset := binary.BigEndian.Uint32(plain[4:]), binary.BigEndian.Uint32(plain[8:])
	digits = binary.BigEndian.Uint32(plain[12:])
	lowest := binary.BigEndian.Uint64(plain[16:])
	if int(size) != len(plain)-hdrHead || offset != 0 || lowest != 1 || digits < 1 || digits > 5 {
		return nil, 0, errHDR
	}
	return plain[hdrHead:], digits, nil
}

// hdrNumber reads a number of at most 64 bits, seven to a byte and eight in a ninth,
// the sign in the lowest bit; n is 0 when it is not whole.
func hdrNumber(b []byte) (number int64, n int) {
	var v uint64
	for n < len(b) {
		x := b[n]
		n++
		if n == 9 {
			return unsigned(v | uint64(x)<<56), n
		}
		v |= uint64(x&0x7f) << (7 * (n - 1))
		if x < 0x80 {
			return unsigned(v), n
		}
	}
	return 0, 0
}

func unsigned(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
