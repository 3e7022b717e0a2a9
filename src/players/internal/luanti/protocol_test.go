package luanti

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestBlockOf(t *testing.T) {
	cases := map[[3]float64]BlockPosition{
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
	cases := map[Radius]int{{0, 0}: 1, {1, 1}: 1, {2, 2}: 3, {3, 3}: 5, {2, 0}: 2}
	for radius, want := range cases {
		config := Config{Radius: radius, RangeBlocks: want}
		if got := radius.leastRange(); got != want || config.Check() != nil {
			t.Errorf("radius %+v needs range %d, wanted %d (%v)", radius, got, want, config.Check())
		}
		config.RangeBlocks = want - 1
		if config.Check() == nil {
			t.Errorf("radius %+v was accepted with range %d", radius, want-1)
		}
	}
	if (Config{Radius: Radius{4, 1}, RangeBlocks: 9}).Check() == nil {
		t.Error("a radius of 4 was accepted")
	}
}

func TestBlockSet(t *testing.T) {
	b := newBlockSet()
	radius := Radius{Horizontal: 1, Vertical: 1}
	center := BlockPosition{10, -1, 3}
	b.arrived(center)
	b.arrived(BlockPosition{100, 0, 0})
	if missing := b.expect(center, radius); missing != 26 || radius.Blocks() != 27 {
		t.Fatalf("%d of %d blocks missing, wanted 26 of 27", missing, radius.Blocks())
	}
	left := 26
	for dx := int16(-1); dx <= 1; dx++ {
		for dy := int16(-1); dy <= 1; dy++ {
			for dz := int16(-1); dz <= 1; dz++ {
				block := BlockPosition{center[0] + dx, center[1] + dy, center[2] + dz}
				if block != center {
					left--
				}
				for range 2 { // A block that comes twice counts once.
					if got := b.arrived(block); got != left {
						t.Fatalf("after %v %d are missing, wanted %d", block, got, left)
					}
				}
				if got := b.arrived(BlockPosition{center[0] + 2, dy, dz}); got != left {
					t.Fatalf("a block outside the box changed the count to %d", got)
				}
			}
		}
	}
	dropped := b.drop(center, 1)
	if len(b.held) != 27 || len(dropped) != 1+9 {
		t.Errorf("%d blocks kept and %d dropped, wanted 27 and 10", len(b.held), len(dropped))
	}
	if missing := b.expect(BlockPosition{11, -1, 3}, Radius{Horizontal: 1, Vertical: 0}); missing != 3 {
		t.Errorf("one block on, %d are missing, wanted 3", missing)
	}
}

func TestNodeContent(t *testing.T) {
	raw := make([]byte, 5+4096*4)
	node := [3]int16{-1, 79, 33} // It is at 15, 15, 1 in its block, which is node 1*256 + 15*16 + 15.
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
