// Package area knows which pieces of terrain a player has, and which of the pieces around its place are missing.
package area

// Set holds pieces of terrain by their positions. A server sends a piece once, and not again until the player has dropped it. A
// piece that the player has therefore counts as arrived.
type Set[P comparable] struct {
	held    map[P]struct{}
	missing map[P]struct{}
}

// New returns an empty set.
func New[P comparable]() *Set[P] {
	return &Set[P]{held: map[P]struct{}{}, missing: map[P]struct{}{}}
}

// Expect begins to wait for some pieces, and returns how many of them are missing.
func (s *Set[P]) Expect(wanted []P) int {
	clear(s.missing)
	for _, piece := range wanted {
		if _, here := s.held[piece]; !here {
			s.missing[piece] = struct{}{}
		}
	}
	return len(s.missing)
}

// Missing returns how many of the expected pieces have not arrived yet.
func (s *Set[P]) Missing() int { return len(s.missing) }

// Arrived adds a piece.
func (s *Set[P]) Arrived(piece P) {
	s.held[piece] = struct{}{}
	delete(s.missing, piece)
}

// Drop forgets the pieces that are too far, and returns them.
func (s *Set[P]) Drop(tooFar func(P) bool) []P {
	var dropped []P
	for piece := range s.held {
		if tooFar(piece) {
			delete(s.held, piece)
			dropped = append(dropped, piece)
		}
	}
	return dropped
}
