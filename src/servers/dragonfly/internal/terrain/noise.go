package terrain

// noise is a function of the position and the seed that looks random.
type noise struct{ seed uint64 }

// hash mixes a position to 64 bits.
func (n noise) hash(x, y, z int) uint64 {
	h := n.seed ^ uint64(x)*0x9e3779b97f4a7c15 ^ uint64(y)*0xc2b2ae3d27d4eb4f ^ uint64(z)*0x165667b19e3779f9
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return h ^ h>>32
}

// at returns a value from 0 to 1 that changes smoothly over so many blocks (value noise).
func (n noise) at(x, y, z, spacing int) float64 {
	cellX, cellY, cellZ := floorDivide(x, spacing), floorDivide(y, spacing), floorDivide(z, spacing)
	shareX, shareY, shareZ := share(x, spacing), share(y, spacing), share(z, spacing)
	corner := func(dx, dy, dz int) float64 {
		return float64(n.hash(cellX+dx, (cellY+dy)<<8+spacing, cellZ+dz)>>11) / (1 << 53)
	}
	level := func(dy int) float64 {
		return mix(mix(corner(0, dy, 0), corner(1, dy, 0), shareX), mix(corner(0, dy, 1), corner(1, dy, 1), shareX), shareZ)
	}
	return mix(level(0), level(1), shareY)
}

// share returns how far a position is into its cell, from 0 to 1, with a slope of 0 at both ends.
func share(x, spacing int) float64 {
	part := float64(x-floorDivide(x, spacing)*spacing) / float64(spacing)
	return part * part * (3 - 2*part)
}

func mix(from, to, share float64) float64 { return from + (to-from)*share }

// floorDivide rounds down, so that cells to both sides of the origin have the same size.
func floorDivide(x, divisor int) int {
	if x < 0 {
		return (x+1)/divisor - 1
	}
	return x / divisor
}
