package trex

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"nodrop.dev/nodrop/internal/traffic"
)

// recordedHDR is what a real server that was started with --hdrh told of 2000
// frames.
const recordedHDR = `{"lat":{"average":554,"hdrh":"HISTFAAAAjN4nEVTS45TQQxMV/u5nc5L82YGjUZRQCyQkJgNazacY44wF2DNAokDIPERa9aII7BAOQgX4AZQ5RdEXvLc7W6Xy2Xn+Pb91WZjbbN+6tmWfH/68ObV79VxgePzJ4enh8djDuMDK4aCmPiaYNwVrmD8unWUubuZeQGv0jdzR+s0xcOc68JzzPQJSVHhtIlCJ60RrXjuE11g/CJevH55HMXNHUJS2gmVyECVtS2TKGvhnne2XBpZMiMD+jxu+ogYvRNgKRZkGC7ulVjVqhITppO/waPgXEYygXylM0gCuDDRCeLiSxOZm1m50x6BjhHOz3CtEbwrSFFMzFTGsm5gl8xT0LAkLk3MVRfzSYHKKqYM4BIxx+Ie3iWvK0aqMJpae030JGnJKM9SLAp5ed3ng0L4EDqJqJ1IJZoSq2zVpE5UnyQwj3W0428P3m66vsMDLto5zLkz+raSc+2osKecD/oJlY2W3DTsyRIaF+tk7WPQwTapSxSXmnZRSIWyajJlA3rqZ0mIftWv1JMlW1WlEaQJywqVYWEKtZrV5Jn6N0mTrte/Ec55a5a4IsiLwbosm19WDnkvZ+B/UEpdbT1jSzg0rrn2hXTsknM/R19sOHE4M55/h67pdU3DNlutqe4IHkMlkqOu12ybJBzS6+E1waxlOya2YW97XOERPhdc4BldJ+CO5pf6cY9bav5tbdkPyz41Zmvn52PB94JTw8nxteBnwbsbfKl0qro/ORg5PcBfmMwiig==","histogram":{"0":1,"10":127,"100":245,"1000":148,"10000":6,"20":18,"200":193,"2000":11,"20000":17,"30":7,"300":193,"3000":1,"40":9,"400":169,"4000":2,"50":18,"500":130,"5000":1,"60":26,"600":38,"70":23,"700":223,"80":21,"800":155,"90":19,"900":199},"jit":374,"last_max":935,"total_max":24800,"total_min":9}}`

// The finer histogram has as many frames in each bucket of the server's own.
func TestFineHistogramAsRecorded(t *testing.T) {
	var told, coarse latencyStats
	if err := json.Unmarshal([]byte(recordedHDR), &told); err != nil {
		t.Fatal(err)
	}
	coarse.Lat.Histogram = told.Lat.Histogram
	all, err := coarse.buckets()
	if err != nil {
		t.Fatal(err)
	}
	fine, err := told.buckets()
	if err != nil {
		t.Fatal(err)
	}
	var least, most uint64 // of the sum
	for _, b := range all {
		least, most = least+b.low*b.count, most+b.high*b.count
		var n uint64
		for _, f := range fine {
			if f.low >= b.low && f.low < b.high {
				n += f.count
			}
		}
		if n != b.count {
			t.Errorf("%d frames from %d to %d ns: the server's own histogram has %d", n, b.low, b.high, b.count)
		}
	}
	for _, f := range fine {
		if width := f.high - f.low; width > max(1_000, f.low/1_000) {
			t.Errorf("bucket from %d to %d ns: want 1 us, or 0.1 %%", f.low, f.high)
		}
	}
	told.correct(1_000) // is no business of the finer histogram
	l, err := told.latency()
	if err != nil || l.Count != 2_000 || told.timed() != 2_000 || l.MinNs != 9_000 || l.MaxNs != 24_800_000 {
		t.Errorf("%+v, %v: want 2000 frames of 9 to 24800 us", l, err)
	}
	if l.SumNs < least || l.SumNs > most {
		t.Errorf("sum of %d ns: the server's own histogram allows %d to %d", l.SumNs, least, most)
	}
	var high uint64
	for index := range l.Buckets {
		_, top := traffic.BucketBounds(index)
		high = max(high, top)
	}
	if high < 24_800_000 {
		t.Errorf("the highest bucket ends at %d ns, below the maximum", high)
	}
}

// encodeHDR writes counts by index as HdrHistogram does, with 3 digits from 1 on.
func encodeHDR(counts map[uint64]uint64) string {
	body := make([]byte, hdrHead)
	next := uint64(0)
	put := func(n int64) {
		u := uint64(n)<<1 ^ uint64(n>>63)
		for i := range hdrVarBytes {
			switch {
			case i == hdrVarBytes-1:
				body = append(body, byte(u))
			case u < 0x80:
				body = append(body, byte(u))
				return
			default:
				body = append(body, byte(u)|0x80)
			}
			u >>= 7
		}
	}
	for _, index := range slices.Sorted(maps.Keys(counts)) {
		if index > next {
			put(-int64(index - next))
		}
		put(int64(counts[index]))
		next = index + 1
	}
	binary.BigEndian.PutUint32(body, hdrPlain|hdrWord)
	binary.BigEndian.PutUint32(body[4:], uint32(len(body)-hdrHead))
	binary.BigEndian.PutUint32(body[12:], 3)
	binary.BigEndian.PutUint64(body[16:], 1)
	return foldHDR(body)
}

func foldHDR(body []byte) string {
	var b bytes.Buffer
	b.Write(binary.BigEndian.AppendUint32(nil, hdrCompressed|hdrWord))
	b.Write(make([]byte, 4))
	w := zlib.NewWriter(&b)
	_, _ = w.Write(body) // into memory
	_ = w.Close()
	binary.BigEndian.PutUint32(b.Bytes()[4:], uint32(b.Len()-8))
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// The bounds are those of HdrHistogram: 1 us up to 2048, and from there on 1/1024 of
// each power of two.
func TestFineBuckets(t *testing.T) {
	got, err := readHDR(encodeHDR(map[uint64]uint64{0: 1, 1: 300, 1023: 3, 1024: 4, 2047: 5, 2048: 6, 3071: 7, 3072: 1 << 62, 14_000: 9}))
	want := []bucket{
		{0, 1_000, 1},
		{1_000, 2_000, 300},
		{1_023_000, 1_024_000, 3},
		{1_024_000, 1_025_000, 4},
		{2_047_000, 2_048_000, 5},
		{2_048_000, 2_050_000, 6},
		{4_094_000, 4_096_000, 7},
		{4_096_000, 4_100_000, 1 << 62},
		{7_012_352_000, 7_016_448_000, 9},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v\nwant %v", got, err, want)
	}
	if got, err := readHDR(encodeHDR(nil)); len(got) != 0 || err != nil {
		t.Errorf("%v, %v of no frame", got, err)
	}
}

func TestWhatIsNoFineHistogram(t *testing.T) {
	head := func(change func(b []byte)) string {
		b := make([]byte, hdrHead+1)
		binary.BigEndian.PutUint32(b, hdrPlain)
		b[7], b[15], b[23] = 1, 3, 1
		change(b)
		return foldHDR(b)
	}
	if _, err := readHDR(head(func([]byte) {})); err != nil {
		t.Errorf("one count of none: %v", err)
	}
	for name, text := range map[string]string{
		"no base64":       "*",
		"short":           base64.StdEncoding.EncodeToString([]byte("short")),
		"another magic":   base64.StdEncoding.EncodeToString(make([]byte, 100)),
		"not zlib":        base64.StdEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, hdrCompressed), make([]byte, 100)...)),
		"another version": head(func(b []byte) { b[3]++ }),
		"no head":         foldHDR(make([]byte, 3)),
		"length":          head(func(b []byte) { b[7]++ }),
		"digits":          head(func(b []byte) { b[15] = 6 }),
		"lowest":          head(func(b []byte) { b[23] = 0 }),
		"shifted":         head(func(b []byte) { b[11] = 1 }),
		"cut off":         head(func(b []byte) { b[hdrHead] = 0x80 }),
	} {
		if got, err := readHDR(text); !errors.Is(err, errHDR) {
			t.Errorf("%s: %v, %v: want an error", name, got, err)
		}
	}
}
