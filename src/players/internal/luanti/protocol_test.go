package luanti

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tickdisk/players/internal/play"
)

func TestBlockOf(t *testing.T) {
	cases := map[[3]float64]blockPosition{
		{0, 0, 0}:             {0, 0, 0},
		{15.4, -0.5, -0.6}:    {0, 0, -1},
		{15.5, -16.5, -16.51}: {1, -1, -2},
		{-3000, 80, 3000}:     {-188, 5, 187},
	}
	for position, want := range cases {
		if got := blockOf(position); got != want {
			t.Errorf("%v lies in block %v, wanted %v", position, got, want)
		}
	}
}

// It was tried on a real server whether all blocks of the box are sent. A radius of 2 with a range of 2 misses a corner, and so
// does a radius of 3 with a range of 4.
func TestLeastRange(t *testing.T) {
	cases := map[radius]int{{0, 0}: 1, {1, 1}: 1, {2, 2}: 3, {3, 3}: 5, {2, 0}: 2}
	for r, want := range cases {
		driver := &Driver{r.horizontal, r.vertical, want}
		if got := r.leastRange(); got != want || driver.Check() != nil {
			t.Errorf("radius %+v needs range %d, wanted %d (%v)", r, got, want, driver.Check())
		}
		driver.rangeBlocks = want - 1
		if driver.Check() == nil {
			t.Errorf("radius %+v was accepted with range %d", r, want-1)
		}
	}
	if same := (&Driver{2, sameRadius, 3}); same.radius() != (radius{2, 2}) || same.Check() != nil {
		t.Errorf("without a vertical radius, the radius is %+v (%v)", same.radius(), same.Check())
	}
	if (&Driver{4, 1, 9}).Check() == nil {
		t.Error("a radius of 4 was accepted")
	}
}

func TestTheBoxAroundABlock(t *testing.T) {
	center := blockPosition{10, -1, 3}
	for _, r := range []radius{{0, 0}, {1, 1}, {2, 0}} {
		seen := map[blockPosition]bool{}
		for _, block := range r.around(center) {
			seen[block] = true
			if !within(block, center, r.horizontal) || r.vertical == 0 && block[1] != center[1] {
				t.Errorf("%v is not in the box of %+v", block, r)
			}
		}
		if len(seen) != r.blocks() {
			t.Errorf("the box of %+v has %d blocks, wanted %d", r, len(seen), r.blocks())
		}
	}
	if r := (radius{1, 1}); r.blocks() != 27 {
		t.Errorf("the box of %+v has %d blocks", r, r.blocks())
	}
}

func TestNodeContent(t *testing.T) {
	raw := make([]byte, 5+4096*4)
	node := play.Node{-1, 79, 33} // It is at 15, 15, 1 in its block, which is node 1*256 + 15*16 + 15.
	index := 5 + 2*(256+240+15)
	raw[index], raw[index+1] = 0x01, 0x2c
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	serialized := append(encoder.EncodeAll(raw, nil), 2) // the network's own version byte follows the compressed data
	var n nodeReader
	for range 2 {
		if got, err := n.content(serialized, node); err != nil || got != 300 {
			t.Errorf("content %d (%v), wanted 300", got, err)
		}
	}
	if _, err := n.content(serialized[:20], node); err == nil {
		t.Error("half a block was read without an error")
	}
}

// The server's half of SRP-6a follows RFC 5054. Both ends must reach the same key, and the server has only the verifier.
func TestLoginAgreesWithAVerifier(t *testing.T) {
	if len(prime.Bytes()) != groupSizeBytes || !prime.ProbablyPrime(10) || !new(big.Int).Rsh(prime, 1).ProbablyPrime(10) {
		t.Fatal("the group's modulus is not the safe prime of RFC 5054")
	}
	salt, verifier := newVerifier("P000")
	l := newLogin("P000")
	v, secret := number(verifier), number(random(32))
	multiplier := number(digest(padded(prime), padded(generator)))
	public := new(big.Int).Exp(generator, secret, prime)
	public.Add(public, new(big.Int).Mul(multiplier, v)).Mod(public, prime)
	proof, err := l.proof(salt, public.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	scramble := number(digest(padded(l.public), padded(public)))
	shared := new(big.Int).Mul(l.public, new(big.Int).Exp(v, scramble, prime))
	key := digest(shared.Exp(shared, secret, prime).Bytes())
	if !bytes.Equal(key, l.session) || len(proof) != 32 {
		t.Error("client and server hold different session keys")
	}
	if _, err := l.proof(salt, prime.Bytes()); err == nil {
		t.Error("a server value of 0 mod N was accepted")
	}
}
