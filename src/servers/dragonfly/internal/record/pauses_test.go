package record

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestPausesOfTheCollectorAreRecordedOnce(t *testing.T) {
	runtime.GC()
	path := filepath.Join(t.TempDir(), "ticks.csv")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const made = 5
	before := Now()
	for range made {
		runtime.GC()
	}
	after := Now()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inside := 0
	last := int64(0)
	for line := range strings.Lines(string(text)) {
		var begin, end int64
		if _, err := fmt.Sscanf(line, "p,gc,%d,%d", &begin, &end); err != nil {
			continue
		}
		if begin >= end || begin < last {
			t.Errorf("the pause %q follows one that ended at %d", line, last)
		}
		last = end
		if begin >= before && end <= after {
			inside++
		}
	}
	if inside != made {
		t.Errorf("%d collections were made and %d pauses lie in their time; the record is\n%s", made, inside, text)
	}
}
