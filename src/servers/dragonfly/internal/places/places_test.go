package places

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
)

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "places.txt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAPlayerHoversAboveItsOwnPlace(t *testing.T) {
	all, err := Read(written(t, "8 70 8\n-72 65 88\n"))
	if err != nil {
		t.Fatal(err)
	}
	place, err := ForPlayer("p001", all)
	if err != nil {
		t.Fatal(err)
	}
	if want := (mgl64.Vec3{-71.5, 67, 88.5}); place.Feet() != want {
		t.Fatalf("p001 is at %v but should be at %v", place.Feet(), want)
	}
	for name, reason := range map[string]string{"p002": "only 2", "Steve": "p000", "p-1": "p000"} {
		if place, err := ForPlayer(name, all); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: the place is %v and the error %v, but %q is expected in the error", name, place, err, reason)
		}
	}
}

func TestABadFileIsRefusedWithItsLine(t *testing.T) {
	for text, reason := range map[string]string{
		"1 2 3\n4 5\n":     "line 2",
		"1 2 3\n4 5 6.5\n": "line 2",
		"1,2,3\n":          "line 1",
		"":                 "no places",
	} {
		if all, err := Read(written(t, text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: the places are %v and the error %v, but %q is expected in the error", text, all, err, reason)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing file was read")
	}
}
