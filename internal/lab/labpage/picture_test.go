package labpage

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"
	"testing"
)

// smaller encodes a picture of a page with the 256 colors that it has most of, which makes the file a third as large.
func smaller(t *testing.T, text []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[color.RGBA]int{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			seen[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(seen), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	palette := color.Palette{}
	for _, c := range colors[:min(len(colors), 256)] {
		palette = append(palette, c)
	}
	indexed := image.NewPaletted(full.Bounds(), palette)
	draw.Draw(indexed, full.Bounds(), full, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, indexed); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
