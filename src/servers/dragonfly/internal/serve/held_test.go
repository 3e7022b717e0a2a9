package serve

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTheDelayOfAnswersIsReadWheneverItIsAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "action_delay_ms")
	answers := held(path)
	if got := answers.delay(); got != 0 {
		t.Errorf("without a file the delay is %v", got)
	}
	for text, want := range map[string]time.Duration{"300\n": 300 * time.Millisecond, "0\n": 0, "": 0} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := answers.delay(); got != want {
			t.Errorf("%q gives %v, wanted %v", text, got, want)
		}
	}
}
