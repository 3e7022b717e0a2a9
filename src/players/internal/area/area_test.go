package area

import (
	"slices"
	"testing"
)

func TestSet(t *testing.T) {
	s := New[int]()
	s.Arrived(3)
	s.Arrived(100)
	wanted := []int{2, 3, 4}
	if missing := s.Expect(wanted); missing != 2 {
		t.Fatalf("%d pieces are missing, wanted 2", missing)
	}
	for _, step := range []struct{ arrived, missing int }{{50, 2}, {2, 1}, {2, 1}, {4, 0}} { // A piece that comes twice counts once.
		if s.Arrived(step.arrived); s.Missing() != step.missing {
			t.Errorf("after piece %d, %d are missing, wanted %d", step.arrived, s.Missing(), step.missing)
		}
	}
	dropped := s.Drop(func(piece int) bool { return piece > 10 })
	slices.Sort(dropped)
	if !slices.Equal(dropped, []int{50, 100}) {
		t.Errorf("%v were dropped, wanted 50 and 100", dropped)
	}
	if missing := s.Expect([]int{4, 50}); missing != 1 {
		t.Errorf("after the drop, %d pieces are missing, wanted 1", missing)
	}
}
